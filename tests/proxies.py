"""The files of deploy/ for proxies, as a proxy on this machine can read them."""

import re
import subprocess
from pathlib import Path

DEPLOY = Path(__file__).parents[1] / "deploy"


def for_several(text):
    """A file of a proxy for two servers: the lines it proposes are in force."""
    lines = re.sub(r"# (hash |server |to |lb_policy )", r"\1", text)
    assert lines.count(":8001") == 1
    return lines


def nginx_file(folder, site, more=""):
    """Write the whole of nginx's settings around a site, with a certificate."""
    key, certificate = folder / "key.pem", folder / "cert.pem"
    made = subprocess.run(  # noqa: S603 (our own)
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=a",  # noqa: S607
         "-keyout", str(key), "-out", str(certificate)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    site = site.replace("/etc/ssl/classmark/fullchain.pem", str(certificate))
    site = site.replace("/etc/ssl/classmark/privkey.pem", str(key))
    whole = (
        f"pid {folder}/pid;\n{more}events {{}}\nhttp {{\naccess_log off;\n{site}}}\n"
    )
    path = folder / "nginx.conf"
    path.write_text(whole)
    return path
