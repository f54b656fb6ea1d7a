"""Promise 3: power may fail at any moment; what was acknowledged is there after."""

import shutil

import numpy as np
import pytest

from classmark.index.index import Index
from classmark.problems import Mistake
from classmark.storage import Generations, open_folder, save
from promises.power import Tape, after_failure, recorded


def write_index(tape: Tape) -> None:
    path = tape.root / "index"
    tape.promise(
        Index.build(path, [(f"d{n}", "bee hive") for n in range(6)]).generation
    )
    index = Index.open(path)
    for turn in range(4):
        index.replace([(f"d{n}", f"bee w{turn}") for n in range(turn, turn + 3)])
        index.commit()
        tape.promise(index.generation)
    index.merge()
    tape.promise(index.generation)
    index.close()


def index_of(folder) -> int:
    if not (folder / "index" / "CURRENT").exists():
        return 0
    index = Index.open(folder / "index")
    index.check()
    return index.generation


def write_models(tape: Tape) -> None:
    models = Generations(tape.root / "models")
    for turn in range(6):
        folder = models.next()
        arrays = {"w": np.full(400, turn), "b": np.arange(turn + 1)}
        save(folder, "model", 1, arrays, {"turn": turn + 1})
        models.put_in_service(folder)
        models.drop_old(2)
        tape.promise(turn + 1)


def model_of(folder) -> int:
    current = Generations(folder / "models").current()
    if current is None:
        return 0
    saved = open_folder(current, "model", 1)
    assert saved.arrays["w"].tolist() == [saved.settings["turn"] - 1] * 400
    return saved.settings["turn"]


TRIES = 5000
WORK = {"index": (write_index, index_of), "models": (write_models, model_of)}


@pytest.fixture(scope="module")
def tapes(tmp_path_factory):
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        for name, (work, _) in WORK.items():
            work_in = tmp_path_factory.mktemp(name) / "disk"
            with recorded(work_in, patch) as tape:
                work(tape)
            found[name] = tape
    return found


def losses(tape, read, tmp_path, schedules, without=""):
    """For each schedule, whether it ends with less than was promised, or damaged."""
    for seed in range(schedules):
        rng = np.random.default_rng(seed)
        moment = int(rng.integers(len(tape.looks)))
        folder = tmp_path / "disk"
        after_failure(tape, moment, rng, folder, without)
        try:
            yield read(folder) < (tape.looks[moment].promised or 0)
        except (Mistake, AssertionError):
            yield True
        shutil.rmtree(folder)


@pytest.mark.parametrize("work", WORK)
def test_the_recorder_sees_everything(tapes, work, tmp_path, promised):
    """Were all written at once, the disk is as the folder was left."""
    tape = tapes[work]
    last = len(tape.looks) - 1
    assert len(tape.looks) > 50
    for seed in range(promised(100, 400)):
        folder = tmp_path / f"{seed}"
        after_failure(tape, last, np.random.default_rng(seed), folder)
        assert WORK[work][1](folder) == tape.promised


@pytest.mark.parametrize("work", WORK)
def test_no_schedule_loses_what_was_promised(tapes, work, tmp_path, promised):
    schedules = promised(100, 1000)
    assert sum(losses(tapes[work], WORK[work][1], tmp_path, schedules)) == 0


@pytest.mark.parametrize("work", WORK)
def test_every_sync_is_needed(tapes, work, tmp_path):
    """Without any one of them, some schedule loses something."""
    tape = tapes[work]
    assert len(tape.sites()) >= 4
    for number, site in enumerate(tape.sites()):
        (folder := tmp_path / f"{number}").mkdir()
        assert any(losses(tape, WORK[work][1], folder, TRIES, site)), site
