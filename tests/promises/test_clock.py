"""The clock is set back: what was said last is the last, whatever the time."""

from itertools import count

from classmark.workbench.deciding.decide import Decision, decide_on, undo_for
from classmark.workbench.deciding.history import history
from classmark.workbench.project import Project, info
from classmark.workbench.team.people import add_token, digest_of, find_token, revoke
from projects import new_desk


def test_the_order_is_that_of_the_log(tmp_path, monkeypatch):
    years = count(2030, -1)
    earlier = lambda: f"{next(years)}-01-01T00:00:00.000+00:00"  # noqa: E731
    monkeypatch.setattr("classmark.workbench.store.store.now", earlier)
    with new_desk(tmp_path / "shelf") as desk:
        first = decide_on(desk, "b1", Decision(("bees",)), {}, "ann", None)
        second = decide_on(desk, "b1", Decision(("bread",)), {}, "ann", None)
        assert second.number > first.number
        assert set(desk.store.record("b1").labels) == {"bees", "bread"}
        newest = history(desk, "b1").rows[0]
        assert "bread" in str(newest)
        undo_for(desk, "ann")
        assert set(desk.store.record("b1").labels) == {"bees"}, "the last one is undone"
        assert desk.learned(60)
    with Project(tmp_path / "shelf") as project:
        info(project, check=True)


def test_a_withdrawn_token_stays_so(tmp_path, monkeypatch):
    with new_desk(tmp_path / "shelf") as desk, desk.writing() as project:
        id_, secret = add_token(project.store, "ann", "admin", days=1)
        assert find_token(project.store, digest_of(secret))
        revoke(project.store, id_)
        back = lambda: "1999-01-01T00:00:00.000+00:00"  # noqa: E731
        monkeypatch.setattr("classmark.workbench.team.people.now", back)
        assert find_token(project.store, digest_of(secret)) is None
