"""A scheduler and workers as people start them: Dask's own programs."""

import datetime as dt
import os
import random
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from machines_hosts import LOOPBACK

SECONDS = 40


def certificate(folder):
    """Write a key and a certificate that signs itself; return both files."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "classmark-test")])
    now = dt.datetime.now(dt.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    folder.mkdir(exist_ok=True)
    cert, secret = folder / "cert.pem", folder / "key.pem"
    cert.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return cert, secret


@contextmanager
def running(folder, *, tls=None, hosts=(LOOPBACK, LOOPBACK), nanny=False, **settings):
    """Start a scheduler on a host and workers on others; yield (address, scheduler).

    settings : Dask's own, by their names in the environment.
    """
    options = [] if tls is None else [
        "--tls-ca-file", tls[0], "--tls-cert", tls[0], "--tls-key", tls[1],
    ]  # fmt: skip
    scheme = "tcp" if tls is None else "tls"
    told = folder / "scheduler.json"
    dask = Path(sys.executable).parent / "dask"
    with ExitStack() as stack:

        def start(host, *arguments):
            words = (*host.prefix, dask, *arguments, *options)
            program = subprocess.Popen(  # noqa: S603 - our own arguments
                [str(each) for each in words], env=os.environ | settings,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            stack.callback(program.wait, SECONDS)
            stack.callback(program.kill)
            return program

        first, *others = hosts
        scheduler = start(
            first, "scheduler", "--host", first.address, "--port", 0, "--no-dashboard",
            "--dashboard-address", "127.0.0.1:0", "--scheduler-file", told,
            "--protocol", scheme,
        )  # fmt: skip
        address = _address(told)
        for host in others:
            start(
                host, "worker", address, "--host", host.address, "--nthreads", 1,
                "--no-dashboard", "--local-directory", folder,
                *(("--worker-port", free_port()) if nanny else ("--no-nanny",)),
            )  # fmt: skip
        yield address, scheduler


def free_port():
    """A port of loopback that nobody listens at, and no connection gets by chance."""
    for port in random.sample(range(20_000, 32_768), 100):
        with socket.socket() as listening, suppress(OSError):
            listening.bind(("127.0.0.1", port))
            return port
    raise TimeoutError("no free port")


def _address(told):
    import json

    for _ in range(SECONDS * 20):
        if told.exists() and (text := told.read_text()):
            return json.loads(text)["address"]
        time.sleep(0.05)
    raise TimeoutError("no scheduler")
