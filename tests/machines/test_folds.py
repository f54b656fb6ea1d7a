"""Folds and settings as tasks: the same numbers, whoever learns."""

import numpy as np
import pytest

from classmark.corpus.documents import folds
from classmark.evaluation.evaluate import LabelledTexts, evaluate_each, select_cost
from classmark.ltr import RankingSVM, select_over_queries
from classmark.machines.cluster import Machines
from classmark.preferences.graph import PreferenceGraph
from classmark.problems import Mistake
from classmark.progress import shown_by, spread_by
from classmark.rankers.calibration import held_out_scores
from classmark.rankers.linear import Rocchio
from classmark.rankers.preference import PreferenceRanker
from classmark.rankers.text_ranker import TextRanker
from classmark.weighting.vectorizer import Vectorizer
from classmark.workbench.learning.evaluate import evaluate_project, evaluate_strategies
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from classmark.workbench.settings import LearningSettings
from projects import new_library
from reproductions.mmp_reuters import Collection
from reproductions.mmp_reuters import compare as compare_online

K = 6
NAMES = [f"c{c}" for c in range(K)]


def made_up(n=90):
    """Texts whose words hint at their labels, not always rightly."""
    random = np.random.default_rng(5)
    labels = [
        sorted({int(c) for c in random.integers(0, K, 1 + i % 2)}) for i in range(n)
    ]
    texts = []
    for own in labels:
        said = [f"w{w}" for w in random.integers(0, 40, 10)]
        said += [f"own{c}" for c in own if random.random() < 0.6]
        texts.append(" ".join([*said, f"own{random.integers(K)}"]))
    return texts, labels


TEXTS, LABELS = made_up()
X = Vectorizer().fit_transform(TEXTS)
Y = np.array([[c in own for c in range(K)] for own in LABELS]) * 1.0


@pytest.fixture
def spreading(two):
    """Inside, two workers do what is spread; the sizes of the requests are noted."""
    asked = []

    class Counted:
        def spread(self, work, tasks, shared):
            asked.append(len(tasks))
            return two.spread(work, tasks, shared)

    with spread_by(Counted()):
        yield asked


def selected():
    found = select_cost(PreferenceRanker("dom"), X, Y, [10.0, 0.1, 1.0], n_folds=4)
    return found.C, found.Cs, found.costs.tolist()


def over_queries():
    random = np.random.default_rng(1)
    qid, y = np.repeat(np.arange(12), 6), random.integers(0, 3, 72)
    table = random.random((72, 4)) + 0.2 * y[:, None]
    found = select_over_queries(RankingSVM(), table, y, qid, [0.1, 1.0], folds=3)
    return found.parameters, found.values.tolist()


def held_out():
    scores, labels, *_ = held_out_scores(PreferenceRanker("dom"), X, Y)
    return scores.tolist(), labels.columns.tolist()


def held_out_by_graphs():
    graphs = [PreferenceGraph.multilabel(K, own) for own in LABELS]
    return held_out_scores(PreferenceRanker("dom"), X, Y, graphs, n_folds=3)[0].tolist()


def learned_from(train):
    texts, labels = ([part[i] for i in train] for part in (TEXTS, LABELS))
    return TextRanker.fit(Vectorizer(), Rocchio(), texts, labels, NAMES)


def evaluated():
    collection = LabelledTexts(TEXTS, LABELS, NAMES)
    parts = folds(len(TEXTS), 3, random_state=0)
    found = evaluate_each(collection, parts, {"rocchio": learned_from})["rocchio"]
    return found.measures, found.precision.tolist(), found.assigned, found.labels


def online_compared():
    table = compare_online(Collection(TEXTS, LABELS, NAMES), n_folds=2)
    return [(row.method, row.measures) for row in table.rows], table.curves


@pytest.mark.parametrize(
    ("work", "tasks"),
    [
        (selected, [4]),
        (over_queries, [6]),
        (held_out, [5]),
        (held_out_by_graphs, [3]),
        (evaluated, [3]),
        (online_compared, [2]),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_folds_are_tasks_and_change_no_bit(work, tasks, spreading):
    with spread_by(Alone()):
        here = work()
    there = work()
    assert spreading == tasks
    assert here == there


class Alone:
    """Does everything itself."""

    def spread(self, work, tasks, shared):
        for number, task in enumerate(tasks):
            yield number, work(task, *shared)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return new_library(tmp_path_factory.mktemp("folds") / "shelf", 160)


def timeless(evaluated):
    """The rows, without how long it took."""
    rows = evaluated.table.rows
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows]


@pytest.fixture(scope="module")
def tables(folder):
    """What evaluations give without machines."""
    with Project(folder) as project:
        return by_learners(project), by_strategies(project)


def by_learners(project):
    return timeless(evaluate_project(project, ["rocchio", "plm"], 3))


def by_strategies(project):
    learning = LearningSettings(rare=True)
    return timeless(evaluate_strategies(project, ["plain", "flat"], learning, 2))


def test_a_project_is_measured_alike(folder, tables, spreading):
    with Project(folder) as project:
        assert (by_learners(project), by_strategies(project)) == tables
    assert spreading[:2] == [6, 8]


def test_a_worker_killed_while_measuring(folder, tables, killing):
    done = []

    class Seen:
        def track(self, items, what, total):  # noqa: ARG002 - as a display is called
            for item in items:
                done.append(what)
                yield item

    with (
        Machines.local(2) as machines,
        Project(folder) as project,
        spread_by(machines),
        shown_by(Seen()),
        killing(machines, lambda: "evaluating" in done) as one,
    ):
        found = by_learners(project)
        assert one.killed
    assert found == tables[0]


def test_a_model_is_trained_alike(folder, spreading):
    """C by cross-validation, and the calibration's folds, on machines."""
    learning = LearningSettings(strategy="plain")
    with Project(folder) as project:
        train(project, learning, select=True)
        there = learned(project)
        with spread_by(Alone()):
            train(project, learning, select=True)
        assert learned(project) == there
    assert spreading == [5, 5]


def learned(project):
    """The files of the newest model."""
    names = ("weights", "calibrator_curve")
    return [(project.models.current() / f"{n}.npy").read_bytes() for n in names]


def test_mistakes_come_back_as_they_are(spreading):
    with pytest.raises(Mistake, match="C is -1"):
        held_out_scores(PreferenceRanker(C=-1), X, Y)
    assert spreading == [5]


def test_a_fold_without_documents_is_told_before_anything_is_learned(spreading):
    collection = LabelledTexts(TEXTS, LABELS, NAMES)
    nobody = np.empty(0, np.int64)
    with pytest.raises(Mistake, match="0 documents to train on"):
        evaluate_each(collection, [(nobody, np.arange(3))], {"rocchio": learned_from})
    assert spreading == []
