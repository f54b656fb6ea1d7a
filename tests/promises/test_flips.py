"""Promise 5: a byte that is not as it was written is found, and nothing is loaded."""

import numpy as np
import pytest

from classmark.index.index import Index
from classmark.problems import DamagedFolder
from classmark.rankers.live_text_ranker import LiveTextRanker
from classmark.workbench.learning.models import check_model, open_model
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from projects import new_project
from workbench.acts import say, teach_all


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = new_project(tmp_path_factory.mktemp("flipped") / "shelf")
    with Project(folder) as project:
        teach_all(project, learn=False)
        train(project)
        say(project, "b1", "bread")
        documents = [(f"d{n}", f"bee hive w{n % 9}") for n in range(50)]
        index = Index.build(folder / "index", documents, positions=True)
        index.delete(["d3"])
        index.commit()
    return folder


def openers(folder):
    """Every folder with checksums, and what opens it."""
    with Project(folder) as project:
        model, live = project.models.current(), project.lives.current()
    return {
        model: lambda: (check_model(project, model), open_model(project, model)),
        live: lambda: LiveTextRanker.open(live),
        folder / "index": lambda: Index.open(folder / "index").check(),
    }


def test_every_flipped_byte_is_found(folder, promised):
    places = [
        (path, opener)
        for root, opener in openers(folder).items()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != ".lock"
    ]
    sizes = np.array([path.stat().st_size for path, _ in places], float)
    assert len(places) > 40
    rng = np.random.default_rng(5)
    rounds = promised(200, 10_000)
    chosen = rng.choice(len(places), rounds, p=(sizes + 50) / (sizes + 50).sum())
    chosen[: len(places)] = np.arange(min(len(places), rounds))[:rounds]
    for at in chosen:
        path, opener = places[at]
        content = path.read_bytes()
        damaged = bytearray(content)
        damaged[rng.integers(len(damaged))] ^= 0xFF
        path.write_bytes(damaged)
        with pytest.raises(DamagedFolder):
            opener()
        path.write_bytes(content)
    for _, opener in places:
        opener()
