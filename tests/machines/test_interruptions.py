"""Commands as people give them: a scheduler is lost, a command killed; they go on."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from machines_scheduling import running

SECONDS = 90
CLASSMARK = Path(sys.executable).parent / "classmark"


def begun(*arguments):
    return subprocess.Popen(  # noqa: S603 - our own arguments
        [str(each) for each in (CLASSMARK, *arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def given(*arguments):
    """Give a command; what it prints."""
    program = begun(*arguments)
    said, problem = program.communicate(timeout=SECONDS)
    assert program.returncode == 0, problem
    return said


def until(moment, program):
    for _ in range(SECONDS * 100):
        if moment():
            return
        assert program.poll() is None, program.communicate()
        time.sleep(0.01)
    raise TimeoutError


def files(folder):
    """Every file below a folder, but for locks and where the source lies."""
    return {
        path.relative_to(folder): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in {".lock", "source.json"}
    }


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """Some megabytes of documents, so that there is time to interrupt."""
    path = tmp_path_factory.mktemp("shelf") / "shelf.jsonl"
    words = [
        f"word{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{i % 7}" for i in range(900)
    ]
    with path.open("w") as file:
        for number in range(15_000):
            text = " ".join(words[(number * k + k * k) % 900] for k in range(1, 60))
            file.write(json.dumps({"id": f"d{number}", "text": text}) + "\n")
    return path


@pytest.fixture(scope="module")
def local(shelf, tmp_path_factory):
    folder = tmp_path_factory.mktemp("local") / "index"
    given("index", shelf, "--to", folder)
    return folder


def parts(folder):
    return {
        path.name: path.stat().st_ino for path in folder.glob(".parts-*/plain-??????")
    }


def test_an_index_goes_on_after_its_scheduler_was_lost(shelf, local, tmp_path):
    there = tmp_path / "index"
    with running(tmp_path) as (address, scheduler):
        program = begun("index", shelf, "--to", there, "--on", address)
        until(lambda: parts(there), program)
        scheduler.kill()
        _, problem = program.communicate(timeout=SECONDS)
    assert program.returncode == 2
    assert problem.startswith("classmark: the scheduler was lost: start it again"), (
        problem
    )
    assert len(problem.splitlines()) == 1
    assert parts(there)
    given("index", shelf, "--to", there, "--workers", 2)
    assert files(there) == files(local)


def test_an_index_goes_on_after_its_command_was_killed(shelf, local, tmp_path):
    there = tmp_path / "index"
    with running(tmp_path) as (address, _):
        program = begun("index", shelf, "--to", there, "--on", address)
        until(lambda: parts(there), program)
        program.send_signal(signal.SIGKILL)
        program.communicate(timeout=SECONDS)
        given("index", shelf, "--to", there, "--on", address)
    assert files(there) == files(local)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_their_command(shelf, local, tmp_path, sign):
    """Ctrl-C reaches the workers, too, and nobody says a word."""
    there = tmp_path / "index"
    program = begun("index", shelf, "--to", there, "--workers", 2)
    until(lambda: parts(there), program)
    workers = psutil.Process(program.pid).children(recursive=True)
    assert len(workers) >= 2
    if sign == signal.SIGINT:
        os.killpg(program.pid, sign)
    else:
        program.send_signal(sign)
    _, said = program.communicate(timeout=SECONDS)
    if sign == signal.SIGINT:
        assert (program.returncode, said) == (130, "")
    psutil.wait_procs(workers, timeout=20)
    assert not [each for each in workers if is_alive(each)]
    given("index", shelf, "--to", there, "--workers", 2)
    assert files(there) == files(local)


def is_alive(process):
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_commands_over_machines_print_what_they_print_without(local, shelf, tmp_path):
    there = tmp_path / "index"
    said = given("index", shelf, "--to", there, "--shards", 3, "--workers", 2, "--json")
    assert json.loads(said)[0]["documents"] == 15_000
    assert len(list(there.glob("segment-*"))) == 3
    asked = ("search", "wordaa0", "wordbb3", "--json", "--index")
    alone = given(*asked, local)
    assert given(*asked, there) == alone
    assert given(*asked, there, "--workers", 2) == alone


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--workers", 2, "--on", "dask://x:1"), "give one of both"),
        (("--workers", 0), "workers is 0: start at least one"),
        (("--dashboard",), "--dashboard is of the machines that --workers starts"),
        (("--workers", 1, "--shards", 0), "shards is 0"),
    ],
)
def test_options_that_make_no_sense(shelf, tmp_path, options, problem):
    program = begun("index", shelf, "--to", tmp_path / "x", *options)
    _, said = program.communicate(timeout=SECONDS)
    assert program.returncode == 2
    assert problem in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("on", ["tls://127.0.0.1:9", "dask://nowhere"])
def test_a_scheduler_that_cannot_be_asked(shelf, tmp_path, on):
    program = begun("index", shelf, "--to", tmp_path / "x", "--on", on)
    _, said = program.communicate(timeout=SECONDS)
    assert program.returncode == 2
    assert said.startswith(f"classmark: {on}" if "9" in on else f"classmark: '{on}'")
    assert said.count("\n") == 1


def test_a_full_disk_is_told_and_gone_on_from(shelf, local, tmp_path):
    """A limit on the size of files stands for a disk that is full."""
    there = tmp_path / "index"
    limit = (
        "import resource,os,sys;resource.setrlimit(resource.RLIMIT_FSIZE,(400_000,)*2)"
    )
    code = f"{limit};os.execv(sys.argv[1],sys.argv[1:])"
    small = [sys.executable, "-c", code, str(CLASSMARK), "index", str(shelf)]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    found = subprocess.run(  # noqa: S603 - our own arguments
        [*small, "--to", str(there), "--workers", "2"],
        capture_output=True, text=True, timeout=SECONDS, check=False, env=environment,
    )  # fmt: skip
    assert found.returncode == 2
    assert "File too large" in found.stderr
    given("index", shelf, "--to", there, "--workers", 2)
    assert files(there) == files(local)
