"""What does it cost to import a table of 50 MB, and to undo that?

``python benchmarks/bench_import.py [--megabytes 50]``: a semicolon-separated Latin-1
table of made-up words is written, looked at, imported, undone and brought back.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

from classmark.workbench.files.documents import past_imports, undo_import
from classmark.workbench.files.importing import import_files, preview_files
from classmark.workbench.project import Project, create
from classmark.workbench.settings import Settings

WORDS = [f"word{number}" for number in range(5000)]
LENGTH, LABELS = 120, 50


def write_table(path: Path, size: int) -> int:
    """Write a table of at least so many bytes; return how many documents it has."""
    chance, count = random.Random(1), 0  # noqa: S311 - words of a benchmark
    with path.open("w", encoding="latin-1") as file:
        file.write("doc_id;title;abstract;category\n")
        while file.tell() < size:
            count += 1
            text = " ".join(chance.choices(WORDS, k=LENGTH))
            file.write(f"{count};Café {count};{text};c{count % LABELS}\n")
    return count


def main() -> None:
    """Print what each step took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=50)
    megabytes = parser.parse_args().megabytes
    with tempfile.TemporaryDirectory() as place:
        table, folder = Path(place) / "table.csv", Path(place) / "shelf"
        count = write_table(table, megabytes * 1_000_000)
        create(folder, Settings(name="shelf"))
        with Project(folder) as project:

            def undo() -> None:
                undo_import(project, past_imports(project)[0].act)

            steps = {
                "preview": lambda: preview_files(project, [table]),
                "import": lambda: import_files(project, [table]),
                "undo": undo,
                "bring back": undo,
            }
            sys.stdout.write(f"{megabytes} MB, {count:,} documents, a label each\n")
            for name, step in steps.items():
                started = time.process_time()
                step()
                seconds = time.process_time() - started
                most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
                sys.stdout.write(
                    f"{name:10} {seconds:5.1f} s of the processor, at most {most} MiB\n"
                )


if __name__ == "__main__":
    main()
