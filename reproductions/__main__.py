"""``python -m reproductions NAME``: the command ``classmark reproduce NAME``."""

import sys

from classmark.cli.main import main

if __name__ == "__main__":
    sys.argv[:1] = ["classmark", "reproduce"]
    main()
