"""Where the workbench may be served, and to whom."""

import pytest

from classmark.problems import Mistake
from classmark.web.guard.auth import fits, hash_password
from classmark.web.guard.gate import doors_of, is_loopback
from classmark.web.serve import Entrance, listen, serve_project
from classmark.workbench.project import Project
from classmark.workbench.team.people import add_user, change_user

HASHED = "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$aGFzaA"
OPEN = ".".join("0000")


def served(folder, host="127.0.0.1", port=0, **entrance):
    """Try to serve; what is refused is refused before anybody is told an address."""
    serve_project(folder, host, port, pytest.fail, Entrance(**entrance))


@pytest.mark.parametrize("host", [OPEN, "192.0.2.7", "::"])
def test_other_addresses_need_an_admin(project_folder, host):
    with pytest.raises(Mistake, match=r"no admin.*users add"):
        served(project_folder, host)
    with Project(project_folder) as project:
        add_user(project.store, "rita", HASHED, "reader")
        add_user(project.store, "otto", HASHED, "admin")
        change_user(project.store, "otto", disabled=True)
    with pytest.raises(Mistake, match="no admin"):
        served(project_folder, host)


def test_other_addresses_need_tls_or_a_proxy_and_a_name(project_folder, tmp_path):
    with Project(project_folder) as project:
        add_user(project.store, "ada", HASHED, "admin")
    with pytest.raises(Mistake, match=r"unencrypted.*--certificate"):
        served(project_folder, OPEN)
    with pytest.raises(Mistake, match="--name"):
        served(project_folder, OPEN, proxy="192.0.2.1")
    with pytest.raises(Mistake, match="both"):
        served(project_folder, OPEN, certificate=tmp_path / "c.pem")
    with pytest.raises(Mistake, match="not a file"):
        served(
            project_folder,
            certificate=tmp_path / "c.pem",
            key=tmp_path / "k.pem",
        )


def test_behind_a_proxy_this_machine_too_needs_users(project_folder):
    with pytest.raises(Mistake, match="no admin"):
        served(project_folder, proxy="127.0.0.1", names=("library.example",))


def test_the_doors_of_this_machine():
    doors = doors_of("127.0.0.1", 80, names=(), tls=False, proxy="", people=False)
    assert len(doors.code) >= 43
    assert doors.code not in repr(doors)
    assert (doors.annif, doors.secure) == (True, False)
    other = doors_of("127.0.0.1", 80, names=(), tls=False, proxy="", people=False)
    assert other.code != doors.code


def test_the_doors_that_others_use():
    doors = doors_of(
        OPEN, 443, names=["Library.example"], tls=True, proxy="", people=True
    )
    assert (doors.code, doors.secure, doors.annif) == ("", True, False)
    assert doors.names == {"library.example"}


@pytest.mark.parametrize(
    ("host", "own"),
    [("127.0.0.5", True), ("::1", True), ("localhost", True), ("example", False)],
)
def test_what_is_loopback(host, own):
    assert is_loopback(host) is own


def test_a_taken_port_is_one_line(project_folder):
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Mistake, match=f"port {port} .* is taken.*--port"):
            served(project_folder, port=port)
        with listen("127.0.0.1", port, or_free=True) as other:
            assert other.getsockname()[1] != port
    with pytest.raises(Mistake, match="0 to 65535"):
        listen("127.0.0.1", 70_000)
    with pytest.raises(Mistake, match="cannot listen"):
        listen("192.0.2.7", 0)


def test_passwords_are_hashed_slowly_and_checked():
    hashed = hash_password("twelve plain characters", "ada")
    assert hashed.startswith("$argon2id$")
    assert fits("twelve plain characters", hashed)
    assert not fits("another one altogether", hashed)
    assert not fits("twelve plain characters", None)
    assert not fits("twelve plain characters", "no hash")


@pytest.mark.parametrize(
    ("password", "said"),
    [
        ("short", "at least 12"),
        ("x" * 2000, "more than 1024"),
        ("aaaaaaaaaaaaaaa", "too easy"),
        ("I am Ada, I am", "too easy"),
    ],
)
def test_passwords_that_are_not_taken(password, said):
    with pytest.raises(Mistake, match=said):
        hash_password(password, "ada")


def test_files_that_tls_cannot_use_are_refused(project_folder, tmp_path):
    cert, key = tmp_path / "c.pem", tmp_path / "k.pem"
    cert.write_text("no certificate")
    key.write_text("no key")
    with pytest.raises(Mistake, match=r"cannot be used for TLS.*PEM"):
        served(project_folder, certificate=cert, key=key)
