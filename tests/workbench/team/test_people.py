"""People and tokens: who may, as what, and since when not any more."""

import pytest
from typer.testing import CliRunner

from classmark.cli.main import app
from classmark.problems import Mistake
from classmark.workbench.project import Project
from classmark.workbench.store.store import Store
from classmark.workbench.team import people
from projects import new_project

HASH = "$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA"


@pytest.fixture
def store(tmp_path, any_store):
    path = tmp_path / "store.sqlite"
    with Store(path, create=True, server=any_store()) as opened:
        yield opened


def test_people_are_added_changed_and_kept(store):
    added = people.add_user(store, "eve", HASH)
    assert (added.name, added.role, added.disabled) == ("eve", "classifier", False)
    people.add_user(store, "Adam", HASH, "admin")
    assert [user.name for user in people.users(store)] == ["Adam", "eve"]
    people.change_user(store, "eve", role="reader")
    people.change_user(store, "eve", password=HASH + "x")
    people.change_user(store, "eve", disabled=True)
    assert people.find_user(store, "eve") == added._replace(
        role="reader", password=HASH + "x", disabled=True
    )
    people.change_user(store, "eve", disabled=False)
    assert not people.user_of(store, "eve").disabled
    assert people.find_user(store, "nobody") is None


def test_what_is_refused(store):
    people.add_user(store, "eve", HASH)
    with pytest.raises(Mistake, match="already"):
        people.add_user(store, "eve", HASH)
    for name in ("", " eve", "a\nb"):
        with pytest.raises(Mistake, match="cannot be used"):
            people.add_user(store, name, HASH)
    with pytest.raises(Mistake, match="reader, classifier, admin"):
        people.add_user(store, "adam", HASH, "owner")
    with pytest.raises(Mistake, match="argon2"):
        people.change_user(store, "eve", password="in the clear")  # noqa: S106
    for change in ({"disabled": True}, {"role": "admin"}):
        with pytest.raises(Mistake, match="no user 'adam'"):
            people.change_user(store, "adam", **change)
    with pytest.raises(Mistake, match="days is 0"):
        people.add_token(store, "eve", "reader", days=0)
    with pytest.raises(Mistake, match="no token"):
        people.revoke(store, "x")


def test_a_token_opens_until_it_is_revoked(store):
    people.add_user(store, "eve", HASH)
    id_, secret = people.add_token(store, "eve", "reader", "the catalogue")
    assert people.add_token(store, "eve", "reader")[1] != secret
    found = people.find_token(store, people.digest_of(secret))
    assert (found.id, found.user, found.role) == (id_, "eve", "reader")
    assert people.find_token(store, secret) is None, "the secret itself is not kept"
    assert secret not in str(store.run("SELECT * FROM tokens").fetchall())
    people.revoke(store, id_)
    assert people.find_token(store, people.digest_of(secret)) is None
    since = next(t.revoked for t in people.tokens(store, "eve") if t.id == id_)
    people.revoke(store, id_)
    assert since == next(t.revoked for t in people.tokens(store) if t.id == id_)


@pytest.mark.parametrize("owner", people.ROLES)
@pytest.mark.parametrize("role", people.ROLES)
def test_a_token_is_told_as_what_it_opens(store, owner, role):
    people.add_user(store, "eve", HASH, owner)
    id_, secret = people.add_token(store, "eve", role)
    least = min(owner, role, key=people.ROLES.index)
    assert people.find_token(store, people.digest_of(secret)).role == least
    assert [(t.id, t.role) for t in people.tokens(store)] == [(id_, least)]
    people.change_user(store, "eve", role="reader")
    assert [t.role for t in people.tokens(store, "eve")] == ["reader"]


def test_a_token_ends_with_its_days_and_with_its_owner(store, monkeypatch):
    people.add_user(store, "eve", HASH)
    _, short = people.add_token(store, "eve", "reader", days=1)
    _, other = people.add_token(store, "eve", "reader")
    assert people.find_token(store, people.digest_of(short)) is not None
    with monkeypatch.context() as later:
        later.setattr(people, "now", lambda: "9999-01-01")
        assert people.find_token(store, people.digest_of(short)) is None
        assert people.find_token(store, people.digest_of(other)) is not None
    people.change_user(store, "eve", disabled=True)
    assert people.find_token(store, people.digest_of(other)) is None


def test_the_command_line_tells_what_a_token_opens(tmp_path):
    folder = new_project(tmp_path / "shelf")
    with Project(folder) as project:
        people.add_user(project.store, "carl", HASH, "classifier")
    run = CliRunner().invoke
    made = run(app, ["tokens", "add", str(folder), "carl", "--role", "admin"]).output
    listed = run(app, ["tokens", "list", str(folder)]).output
    for said in (made, listed):
        assert "classifier" in said
        assert "admin" not in said
