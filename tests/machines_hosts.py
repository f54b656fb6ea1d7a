"""Hosts on this machine: network namespaces on one bridge, as cables on one switch.

Nothing outside the namespaces has an address in their network or a way into it.
"""

import os
import shutil
import subprocess
from contextlib import ExitStack, contextmanager
from typing import NamedTuple


class Host(NamedTuple):
    """Where a program runs: what comes before its command, and the host's address."""

    prefix: tuple
    address: str
    number: int = 0


LOOPBACK = Host((), "127.0.0.1")


def ip(*words):
    """Run ip(8)."""
    command = [shutil.which("ip") or "ip", *map(str, words)]
    subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603


def why_not():
    """Why there can be no hosts here; None where there can."""
    for program in ("ip", "nft"):
        if shutil.which(program) is None:
            return f"needs {program}: install iproute2 and nftables"
    name = f"classmark-try-{os.getpid()}"
    try:
        ip("netns", "add", name)
        ip("netns", "del", name)
    except subprocess.CalledProcessError as problem:
        return f"needs network namespaces (root): {problem.stderr.strip()}"
    return None


class Network:
    """Some hosts with an interface each, 10.77.0.1 onwards, and what befalls them."""

    def __init__(self, size, stack):
        self._mark = f"classmark-{os.getpid()}"
        self._switch = self._namespace("switch", stack)
        ip("-n", self._switch, "link", "add", "bridge", "type", "bridge")
        ip("-n", self._switch, "link", "set", "bridge", "up")
        self.hosts = [self._host(number, stack) for number in range(1, size + 1)]

    def lose(self, percent):
        """Let each host lose so many of a hundred packets that reach it."""
        for host in self.hosts:
            rule = f"numgen random mod 100 < {percent} drop"
            chain = "chain loss { type filter hook input priority 0;"
            subprocess.run(  # noqa: S603 - our own arguments
                [*host.prefix, "nft", "-f", "-"], check=True, text=True,
                input=f'table inet loss {{ {chain} iifname "eth0" {rule}; }}; }}\n',
            )  # fmt: skip

    def cut(self, host):
        """Pull the cable of a host: nobody is told, packets are gone both ways."""
        ip("-n", self._switch, "link", "set", f"to{host.number}", "down")

    def _namespace(self, name, stack):
        full = f"{self._mark}-{name}"
        ip("netns", "add", full)
        stack.callback(ip, "netns", "del", full)
        return full

    def _host(self, number, stack):
        name, address = self._namespace(number, stack), f"10.77.0.{number}"
        ip("-n", self._switch, "link", "add", f"to{number}", "type", "veth",
           "peer", "name", "eth0", "netns", name)  # fmt: skip
        ip("-n", self._switch, "link", "set", f"to{number}", "master", "bridge", "up")
        ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
        for interface in ("lo", "eth0"):
            ip("-n", name, "link", "set", interface, "up")
        return Host(("ip", "netns", "exec", name), address, number)


@contextmanager
def network(size):
    """So many hosts; they are gone in the end."""
    with ExitStack() as stack:
        yield Network(size, stack)
