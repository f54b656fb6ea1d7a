"""Training, placing and comparing by every strategy, on the library, as users type."""

import json
import shutil

import pytest

from classmark.datasets.library import library_categories, library_records
from classmark.hierarchies import nodes
from classmark.taxonomy.category import Category
from classmark.workbench.project import Project
from classmark.workbench.results import in_percent
from classmark.workbench.settings import FILE
from projects import new_project

WAITING = ["bees and honey in the hive, the queen and her swarm", "zzz"]
OLD = """format = 1
name = "old"

[text]
analyzer = "words|lower|stop(english)|snowball(english)"
fields = []

[learning]
weighting = "log-tfidf"
min_df = 1
learner = "plm"
cost = "dom"
decomposition = "domination"
C = 0.0
center = 5.0
grades = "equal"
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    records = [r for r in library_records() if r.meta.get("part") != "test"][:300]
    waiting = [{"id": f"w{at}", "text": text} for at, text in enumerate(WAITING)]
    inner = {"id": "i", "text": "a map of the shore", "labels": ["place"]}
    folder = tmp_path_factory.mktemp("made") / "library"
    return new_project(folder, [*records, *waiting, inner], library_categories())


@pytest.fixture
def library(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path / "library")
    monkeypatch.chdir(tmp_path / "library")
    monkeypatch.setenv("CLASSMARK_USER", "eve")
    return tmp_path / "library"


@pytest.fixture
def done(run, library):
    """Run a command that is to succeed in the library; return what it prints."""

    def running(*words):
        code, out, err = run(*words)
        assert code == 0, err
        return out

    running.folder = library
    return running


@pytest.fixture
def refused(run, library):
    """Run a command that is to be refused; return the one line it prints."""

    def running(*words):
        code, _, err = run(*words)
        assert code == 2
        assert err.count("\n") == 1
        return err

    running.folder = library
    return running


def unwrapped(shown):
    """Text in one line, however it was wrapped."""
    return " ".join(shown.split())


def said(done, *words):
    return json.loads(done(*words, "--json"))


@pytest.mark.parametrize(
    ("options", "strategy", "live"),
    [
        ((), "flat", True),
        (("--strategy", "flat", "--base", "logistic"), "flat", False),
        (("--strategy", "top-down", "--base", "naive-bayes"), "top-down", False),
        (("--strategy", "pruned", "--rare"), "pruned", True),
        (("--strategy", "top-down"), "top-down", True),
    ],
)
def test_every_strategy_serves_all_that_follows(done, options, strategy, live):
    (trained,) = said(done, "train", *options)
    assert (trained["strategy"], trained["live"]) == (strategy, live)
    assert trained["calibrated_on"] > 250
    assert 0 < trained["complexity_ratio"] < 1
    first = said(done, "suggest", "--text", WAITING[0])[0]
    assert first["category"] == "nature.animals.insects"
    assert set(first["favour"]) & {"bees", "honey", "hive"}
    assert 0.3 < first["probability"] < 1
    assert said(done, "queue", "--order", "likely")[0]["document"] == "w0"
    places = said(done, "place", "--precision", "0.5")
    assert [row["kind"] for row in places] == ["leaf", places[1]["kind"]]
    assert places[0]["category"] == "nature.animals.insects"
    assert "place:" in done("suggest", "--text", WAITING[0])
    logged = said(done, "decide", "w0", "--assign", "nature.animals.insects")
    assert (logged["learned"] is not None) == live
    if live:
        assert said(done, "rebuild")[0]["difference"] == pytest.approx(0.0, abs=1e-9)
    assert "checked" in done("info", "--check")


def wide(folder):
    """Make a project of 240 leaves in 12 branches, each with a word of its own."""
    branches = [Category(f"b{at}") for at in range(12)]
    leaves = [Category(f"c{at}", parents=(f"b{at % 12}",)) for at in range(240)]
    rows = [
        {"id": f"d{n}", "text": f"word{n} more{n} branch{n % 12}", "labels": f"c{n}"}
        for n in range(240)
    ]
    new_project(folder, rows, [*branches, *leaves])


def test_the_output_says_what_was_picked_and_why(run, tmp_path):
    wide(tmp_path / "wide")
    code, shown, _ = run("train", "-p", "wide", "--memory", "600kB")
    shown = unwrapped(shown)
    assert code == 0
    assert "strategy top-down: flat does not fit the memory: 1.29 MB" in shown
    assert "pruning by meta names no node" in shown
    assert "600 kB given; complexity ratio 0.08" in shown
    assert "learned at the next train" not in shown
    code, shown, _ = run("suggest", "-p", "wide", "--text", "word7", "--json")
    assert json.loads(shown)[0]["category"] == "c7"
    code, _, err = run("train", "-p", "wide", "--memory", "600kB", "--rare")
    assert (code, "need two documents each" in err) == (2, True)
    assert "it fits the memory" in run("train", "-p", "wide")[1]


def test_a_category_renamed_since_is_placed_under_its_present_name(done):
    done("train", "--rare")
    done("taxonomy", "rename", "nature.animals.insects", "--id", "bees")
    placed = said(done, "place", "w0", "--precision", "0.5")
    assert placed[0]["category"] == "bees"
    assert said(done, "suggest", "--text", WAITING[0])[0]["category"] == "bees"


def test_a_training_that_was_stopped_goes_on(done, run, monkeypatch):
    learned, fit_node = [], nodes.fit_node

    def stopping(*given):
        if len(learned) == 6:
            raise KeyboardInterrupt
        learned.append(1)
        return fit_node(*given)

    monkeypatch.setattr(nodes, "fit_node", stopping)
    assert run("train", "--strategy", "top-down")[0] == 130
    left = done.folder / "models" / ".training"
    assert len(list(left.iterdir())) == 1
    learned.clear()

    def counted(*given):
        learned.append(1)
        return fit_node(*given)

    monkeypatch.setattr(nodes, "fit_node", counted)

    (trained,) = said(done, "train", "--strategy", "top-down")
    again = len(learned)
    assert (trained["model"], left.exists()) == ("000001", False)
    learned.clear()
    said(done, "train", "--strategy", "top-down")
    assert again + 4 <= len(learned) <= again + 6  # two may have been under way
    assert said(done, "rebuild")[0]["difference"] == 0.0


def test_strategies_are_compared_with_the_first(done):
    words = ("evaluate", "--strategy", "plain, flat,top-down", "--folds", "2", "--rare")
    found = said(done, *words)["rows"]
    assert [row["strategy"] for row in found] == [
        "plain", "plain + rare", "flat", "flat + rare", "top-down", "top-down + rare",
    ]  # fmt: skip
    assert (found[0]["sign_p"], found[0]["t_p"]) == (None, None)
    for row in found:
        assert 0 < row["one_error"] < row["tree_error"]
        assert 0.3 < row["hierarchical_f1"] < 1
        assert 0.3 < row["accuracy_bound"] < 1
        assert 10 < row["detected"] <= 50
        assert 0.1 < row["macro_f1"] < row["micro_f1"] < row["hierarchical_f1"]
        assert 0.1 < row["rare_recall@5"] < 1
    assert all(0 <= row["sign_p"] <= 1 for row in found[1:])
    assert all(0 <= row["t_p"] <= 1 for row in found[1:])
    drawn = (done.folder / "reports" / "rare.svg").read_text()
    assert all(f"{name}: " in drawn for name in ("true", "plain", "top-down + rare"))


def test_no_heading_is_cut_on_a_screen_of_100_columns(done, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    words = ("evaluate", "--strategy", "flat,top-down", "--folds", "2", "--all")
    for shown in (done(*words), done("evaluate", "--learner", "rocchio", "--all")):
        assert "…" not in shown
        assert max(map(len, shown.splitlines())) <= 100
        for name in ("precision", "hierarchical_f1", "rare_recall@5", "tested"):
            assert name in shown


def test_votes_on_the_rare_are_told(done):
    (trained,) = said(done, "train", "--strategy", "plain", "--rare")
    found = trained["rare"]
    assert (found["delta"], found["ratio"], found["votes"]) == (0.1, 2.0, 5)
    assert 0 < found["asked_again"] < 0.9
    assert 10 < found["detected"] <= found["detected_after"] + 5 <= 55
    shown = unwrapped(done("train", "--strategy", "plain", "--rare"))
    assert "Δ = 0.1" in shown
    share, after = 100 * found["asked_again"], found["detected_after"]
    assert f"of held-out documents {share:.1f} % are" in shown
    assert f"categories detected: {found['detected']} → {after}" in shown
    assert said(done, "train", "--no-rare")[0]["rare"] is None


def test_the_policy_of_pruning_is_passed_on(done):
    words = ("train", "--strategy", "pruned", "--policy", "random", "--bold")
    done(*words, "--base", "naive-bayes")
    with Project(done.folder) as project:
        used = project.store.last_event("trained")["settings"]
    assert (used["policy"], used["bold"]) == ("random", True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--strategy", "top-down", "--loss", "dom"), "--loss has no effect with"),
        (
            ("--strategy", "flat", "--base", "logistic", "--loss", "dom"),
            "base logistic",
        ),
        (("--strategy", "plain", "--base", "logistic"), "the strategy plain"),
        (("--strategy", "top-down", "--policy", "meta"), "use --strategy pruned"),
        (("--strategy", "flat", "--bold"), "--bold has no effect"),
        (("--learner", "rocchio", "--C", "1"), "the learner rocchio"),
        (("--learner", "rocchio", "--memory", "1GB"), "use --learner plm"),
        (("--learner", "loglinear", "--memory", "1KB"), "allow more with --memory"),
        (("--learner", "rocchio", "--loss", "dom"), "or --learner loglinear"),
        (
            ("--strategy", "flat", "--base", "naive-bayes", "--memory", "1B"),
            "flat with the base naive-bayes takes",
        ),
    ],
)
def test_options_without_effect_are_refused(refused, words, message):
    assert message in refused("train", *words)


def test_a_base_needs_a_strategy_that_looks_at_it(done, refused):
    words = ("--base", "naive-bayes", "--folds", "2")
    assert "--base has no effect" in refused("evaluate", "--strategy", "plain", *words)
    assert len(said(done, "evaluate", "--strategy", "plain,flat", *words)["rows"]) == 2


def test_it_is_said_why_decisions_wait(done, refused):
    shown = unwrapped(done("train", "--strategy", "flat", "--base", "naive-bayes"))
    assert "learned at the next train (naive-bayes learns from all" in shown
    wrong = refused("rebuild")
    assert "model 000001 (flat, naive-bayes)" in wrong
    assert "train --base svm" in wrong


def test_the_base_is_told_where_one_decides(done):
    words = ("train", "--strategy", "top-down", "--base", "naive-bayes")
    assert "plm" not in done(*words)
    assert said(done, *words)[0]["base"] == "naive-bayes"
    found = {row["what"]: row["value"] for row in said(done, "info")}
    assert (found["its strategy"], found["its base"]) == ("top-down", "naive-bayes")
    assert said(done, "train")[0]["base"] is None
    found = {row["what"]: row["value"] for row in said(done, "info")}
    assert (found["its strategy"], "its base" in found) == ("flat", False)


def test_places_are_told_in_percents(done):
    done("train")
    shown = done("place", "--precision", "0.5")
    note = "50 % of all documents placed are to be right, at a right"
    assert note in unwrapped(shown)
    chances = [row["probability"] for row in said(done, "place", "--precision", "0.5")]
    assert len(chances) == 2
    assert all(f"  {in_percent(chance)}\n" in shown for chance in chances)


def test_without_labels_there_is_nothing_to_measure(run):
    assert run("init", "none")[0] == 0
    code, _, err = run("evaluate", "-p", "none")
    assert (code, err.count("\n")) == (2, 1)
    assert "no labelled documents to measure on: import some" in err


def test_what_means_nothing_is_refused(refused):
    assert "use auto, plain, flat, top-down, pruned" in refused(
        "train", "--strategy", "sideways"
    )
    assert "base 'tree' is not known" in refused("train", "--base", "tree")
    assert "give a size such as" in refused("train", "--memory", "much")
    low = refused("train", "--strategy", "top-down", "--memory", "1KB")
    assert "allow more" in low
    learner = ("--learner", "rocchio")
    assert "leave --learner out" in refused("train", "--strategy", "flat", *learner)
    assert "need --strategy" in refused("evaluate", "--rare")
    assert "not known" in refused("evaluate", "--strategy", "flat,sideways")
    assert "no model yet" in refused("place")
    assert "no document 'nobody'" in refused("place", "nobody")


def test_the_precision_is_one_that_can_be_learned(done, refused):
    done("train")
    assert "at most 0.99" in refused("place", "--precision", "1.5")
    assert "one document or more" in refused("place", "-n", "-1")


def test_without_a_tree_there_is_nothing_to_go_down(run, tmp_path):
    rows = [
        {"id": str(at), "text": "hive", "labels": [f"c{at % 2}"]} for at in range(4)
    ]
    (tmp_path / "notes.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert run("init", "flat")[0] == 0
    assert run("import", "notes.jsonl", "-p", "flat")[0] == 0
    code, _, err = run("train", "-p", "flat", "--strategy", "top-down")
    assert code == 2
    assert "needs a tree of categories" in err
    code, out, _ = run("train", "-p", "flat")
    assert code == 0
    assert "strategy plain: the categories have no tree" in out
    code, _, err = run("place", "-p", "flat")
    assert (code, "cannot say where to stop" in err) == (2, True)
    code, _, err = run("train", "-p", "flat", "--rare")
    assert (code, "rare needs 50" in err) == (2, True)


def test_settings_of_before_are_read_and_new_ones_are_used(done, refused):
    path = done.folder / FILE
    path.write_text(OLD)
    assert said(done, "train")[0]["strategy"] == "flat"
    path.write_text(OLD + 'strategy = "plain"\nrare = true\n')
    assert said(done, "train")[0]["strategy"] == "plain"
    assert (done.folder / "models" / "000002" / "votes").is_dir()
    new = OLD.replace('cost = "dom"\ndecomposition = "domination"\n', "")
    path.write_text(new + 'rare = "yes"\n')
    assert "rare is 'yes': it must be true or false" in refused("info")
    path.write_text(new.replace("center = 5.0", "center = true"))
    assert "center is true" in refused("info")
