"""What the engine computes and the commands print: digests to compare after a change.

``python benchmarks/frozen.py write FOLDER`` before, ``… compare FOLDER`` after: every
estimator fitted on the embedded library, the bytes of an index and its answers, a
project's life by the command line, the API's description. Weights are compared to
the bit, so both runs must be on the same machine.
"""

import difflib
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import classmark as cm

METHODS = [
    "auto",
    "centroid",
    "one-class",
    "rocchio",
    "two-class",
    "balanced",
    "balanced-literal",
    "precision-recall",
    "precision@k",
    "recall@k",
    "biased",
]
MODELS = [
    "boolean",
    "cosine",
    "bm25",
    "jm",
    "dirichlet",
    "bim",
    "pl2",
    "inl2",
    "dph",
    "lgd",
    "spl",
]
TIMES = re.compile(
    r"\d+(\.\d+)?(e-\d+)? ?(s|ms|µs|seconds?|docs/s|MB/s)\b"
    r'|(?<="seconds": )[\d.]+'
    r"|(?<= )\d+\.\d$"
    r"|\d{4}-\d\d-\d\d[T ][\d:.+Z]+",
    re.MULTILINE,
)
TIMED = {"trace_", "seconds_"}  # what a fit took
COMMANDS = """
suggest --text "a stone church with a tall tower"
index
search stone church tower --json
search church AND tower --model jm
queue
like --examples FIRST --json
like --yes SECOND --no THIRD
decide FIRST --aside
decide SECOND --note because --unsure CATEGORY
decide THIRD --assign CATEGORY
history
undo
history --json
rebuild
progress
info
evaluate --json
place
agreement
taxonomy show
taxonomy report
screen start --examples FIRST,SECOND
export OUT/export.jsonl
train --strategy top-down --json
suggest --text "a stone church with a tall tower"
evaluate --strategy plain,flat --json
"""


def digest(value):
    """A short name of what a value holds."""
    h = hashlib.blake2b(digest_size=8)
    if sp.issparse(value):
        value = value.tocsr()
        parts = [value.data, value.indices, value.indptr]
    elif isinstance(value, np.ndarray):
        parts = [value]
    elif isinstance(value, bytes):
        h.update(value)
        parts = []
    else:
        h.update(repr(value).encode())
        parts = []
    for part in parts:
        h.update(f"{part.dtype}{part.shape}".encode())
        h.update(np.ascontiguousarray(part).tobytes())
    return h.hexdigest()


def fitted(estimator):
    """Digests of what an estimator learned."""
    values = {}
    for name in sorted(set(dir(estimator))):
        if name.endswith("_") and not name.startswith("_") and name not in TIMED:
            value = getattr(estimator, name)
            if isinstance(value, np.ndarray | float | int | list) or sp.issparse(value):
                values[name] = digest(value)
    return values


def library():
    """The embedded library, and the label numbers of its training documents."""
    data = cm.datasets.load("library")
    names = {name: k for k, name in enumerate(data.label_names)}
    train = [[names[x] for x in labels] for labels in data.train.labels]
    return data, train


def estimators():
    """Fit everything there is on the library."""
    data, Y = library()
    texts, n_labels = list(data.train.texts), len(data.label_names)
    results = {}
    for weighting in ("tfidf", "binary", "count", "tf", "log", "pivoted"):
        X = cm.Vectorizer(weighting=weighting).fit_transform(texts)
        results[f"Vectorizer {weighting}"] = digest(X)
    vectorizer = cm.Vectorizer()
    X = vectorizer.fit_transform(texts)
    T = vectorizer.transform(list(data.test.texts))
    live = cm.LiveVectorizer()
    live.partial_fit(texts)
    results["LiveVectorizer"] = digest(live.transform(texts))
    results["select_features"] = digest(np.asarray(cm.select_features(X, Y)))
    rankers = {
        "Rocchio": cm.Rocchio(),
        "MMP 1": cm.MMP(loss=1), "MMP 3": cm.MMP(loss=3, passes=2, average=True),
        "Perceptron": cm.CategoryPerceptron(passes=2),
        "LogLinear": cm.LogLinearRanker(max_iter=20),
        "LogLinear boosting": cm.LogLinearRanker(solver="boosting", max_iter=20),
        **{f"Preference {m}": cm.PreferenceRanker(loss=m)
           for m in ("dom", "dis", "dme", "dom-dme", "svm")},
    }  # fmt: skip
    for name, ranker in rankers.items():
        for kind, data_ in (("f4", X), ("f8", X.astype(np.float64))):
            ranker.fit(data_, Y)
            scores = ranker.decision_function(T.astype(data_.dtype))
            results[f"{name} {kind}"] = [digest(scores), fitted(ranker)]
    live = cm.PreferenceRanker()
    for row in range(60):
        live.partial_fit(X[row], [Y[row]], n_labels=n_labels)
    results["Preference live"] = digest(live.decision_function(T))
    by_size = sorted(range(n_labels), key=lambda k: -sum(k in y for y in Y))
    members = [row for row, y in enumerate(Y) if by_size[0] in y][:8]
    for method in METHODS:
        query = cm.ExampleQuery(method=method, **({"k": 5} if "@" in method else {}))
        query.fit(X[members], X)
        results[f"ExampleQuery {method}"] = [
            digest(query.decision_function(T)), fitted(query),
        ]  # fmt: skip
    return results | letor() | trees(X, Y, T) | clusters(X)


def letor():
    """Learners of orders on made-up queries, and PageRank on a made-up graph."""
    rng = np.random.default_rng(5)
    qid = np.repeat(np.arange(40), 12)
    X = rng.normal(size=(480, 9))
    y = np.clip(np.round(X @ rng.normal(size=9) / 3 + rng.normal(size=480) + 1), 0, 3)
    X, results = X.astype(np.float64), {}
    for name in ("RankingSVM", "PairwiseLogistic", "PointwiseSVM", "ListNet"):
        model = getattr(cm, name)().fit(X, y.astype(int), qid)
        results[name] = [digest(model.decision_function(X)), fitted(model)]
    weighted = cm.RankingSVM(weighting="ir").fit(X, y.astype(int), qid)
    results["RankingSVM ir"] = digest(weighted.coef_)
    A = sp.random(300, 300, 0.02, random_state=1, format="csr")
    A.data[:] = 1
    for method in ("power", "gauss-seidel", "eigen"):
        results[f"pagerank {method}"] = digest(
            np.round(cm.pagerank(A, method=method), 12)
        )
    return results


def trees(X, Y, T):
    """Classifiers of a made-up tree over the library's documents."""
    rng = np.random.default_rng(3)
    edges = [("root", f"a{i}") for i in range(4)]
    leaves = [f"l{i}" for i in range(20)]
    edges += [(f"a{i % 4}", leaf) for i, leaf in enumerate(leaves)]
    taxonomy, results = cm.Taxonomy(edges), {}
    y = [leaves[labels[0] % 20] for labels in Y]
    for base in ("svm", "logistic", "naive-bayes"):
        model = cm.TopDownClassifier(taxonomy, base=base).fit(X, y)
        results[f"TopDown {base}"] = digest(list(model.predict(T)))
        model = cm.FlatClassifier(base=base).fit(X, y)
        results[f"Flat {base}"] = digest(list(model.predict(T)))
    model = cm.CrammerSingerSVM().fit(X, y)
    results["CrammerSinger"] = [digest(list(model.predict(T))), fitted(model)]
    model = cm.HierarchicalSVM(taxonomy).fit(X, y)
    results["HR-SVM"] = [digest(list(model.predict(T))), fitted(model)]
    for policy in ("bound", "random"):
        pruned = cm.prune_taxonomy(taxonomy, X, y, policy=policy, random_state=0)
        results[f"prune {policy}"] = digest(sorted(map(str, pruned.leaves)))
    results["report"] = digest(repr(cm.taxonomy_report(taxonomy, X, y)))
    del rng
    return results


def clusters(X):
    """Every way to cluster."""
    results = {}
    for name in ("SphericalKMeans", "SoftMixture", "Agglomerative"):
        model = getattr(cm, name)(6)
        model.fit(X)
        results[name] = digest(np.asarray(model.labels_))
    return results


def index(folder):
    """The bytes of an index, and its answers under every model."""
    data, _ = library()
    documents = list(zip(data.train.ids, data.train.texts, strict=True))
    built = cm.Index.build(folder / "index", documents)
    results = {
        f"index {path.relative_to(folder)}": digest(path.read_bytes())
        for path in sorted((folder / "index").rglob("*"))
        if path.is_file() and path.name != ".lock"
    }
    for model in MODELS:
        hits = built.search("stone church tower river bird", k=20, model=model)
        results[f"search {model}"] = digest([(hit.id, hit.score) for hit in hits])
    hits = built.search_vector({"church": 1.0, "river": -0.5, "bird": 0.3}, k=20)
    results["search_vector"] = digest([(hit.id, hit.score) for hit in hits])
    return results


def command(*words):
    """What a command prints and its exit code, times left out."""
    return TIMES.sub("…", printed(*words))


def printed(*words):
    """The exit code of a command, and what it prints."""
    from classmark.cli.main import main

    out = io.StringIO()
    code = 0
    before, sys.argv = sys.argv, ["classmark", *words]
    try:
        with redirect_stdout(out), redirect_stderr(io.StringIO()):
            main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.argv = before
    return f"exit {code}\n{out.getvalue()}"


def answer(*words):
    """What a command prints as JSON."""
    return json.loads(printed(*words, "--json").partition("\n")[2])


def helps():
    """Every --help there is."""
    texts, names = {}, [[]]
    while names:
        words = names.pop()
        text = command(*words, "--help")
        texts["help " + " ".join(words)] = text
        listed = text.partition("Commands:\n")[2]
        if len(words) < 2:
            names += [
                [*words, m]
                for m in re.findall(r"^  (\w[\w-]*)  ", listed, re.MULTILINE)
            ]
    return texts


def project(folder):
    """A project's life by the command line, then by calls and pages."""
    place, out = folder / "project", folder / "out"
    out.mkdir()
    texts = {"demo": command("demo", "--dir", str(place), "--no-serve")}
    os.environ["CLASSMARK_PROJECT"] = str(place)
    ids = [row["document"] for row in answer("queue")][:3]
    category = answer("suggest", "--document", ids[0])
    names = dict(zip(("FIRST", "SECOND", "THIRD"), ids, strict=True))
    names |= {"CATEGORY": category[0]["category"], "OUT": str(out)}
    for number, line in enumerate(COMMANDS.strip().splitlines()):
        texts[f"{number:02} {line}"] = command(*shlex.split(filled(line, names)))
    texts["exported"] = (out / "export.jsonl").read_text()
    texts |= served(place, names)
    return {name: text.replace(str(folder), "FOLDER") for name, text in texts.items()}


PAGES = """
/inbox /inbox?show=decided /inbox?order=likely&words=stone /inbox/accept /decide
/decide/FIRST /taxonomy /taxonomy?at=place.shore.fishing /taxonomy/find?q=bo /like
/like/1 /search /search?q=bees /search?q=stone+church&model=jm /history
/history?act=assign /progress /progress/agreement /files /settings /settings/model
/settings/people /settings/tokens /nowhere
"""
CALLS = """
GET /api/v1/inbox
GET /api/v1/documents?top=5
GET /api/v1/categories?top=20
GET /api/v1/sheet/FIRST
POST /api/v1/suggest {"text": "a stone church", "why": 3}
POST /api/v1/decide {"document": "FIRST", "assign": ["CATEGORY"]}
POST /api/v1/decide {"document": "SECOND", "over": [["CATEGORY", "nature"]]}
POST /api/v1/undo {}
POST /api/v1/redo
POST /api/v1/skip {"document": "SECOND"}
POST /api/v1/note {"document": "SECOND", "text": "a note"}
POST /api/v1/categories {"id": "wasps", "parent": "nature.animals"}
PATCH /api/v1/categories/one/wasps {"guideline": "no hornets"}
POST /api/v1/categories/preview {"act": "merge", "category": "wasps", "to": "CATEGORY"}
POST /api/v1/categories/merge {"category": "wasps", "into": "CATEGORY"}
POST /api/v1/like {"examples": ["FIRST"], "texts": {"mine": "a hive"}}
POST /api/v1/like/3/mark {"marks": {"THIRD": "yes"}}
POST /api/v1/like/3/undo
GET /api/v1/like/3
PATCH /api/v1/settings {"settings": {"search.log": "named"}}
GET /api/v1/settings
POST /api/v1/search {"query": "hive"}
POST /api/v1/click {"impression": 1, "document": "THIRD"}
POST /api/v1/undo/preview {"first": 1, "last": 3}
POST /api/v1/users {"name": "cat", "password": "a lamp in the attic"}
PATCH /api/v1/users/cat {"role": "reader", "disabled": true}
GET /api/v1/progress
GET /api/v1/agreement
GET /api/v1/disagreements
GET /api/v1/second-readings
GET /api/v1/history
GET /api/v1/export
"""
CHANGING = re.compile(
    r'(?<=name="csrf" value=")[^"]+|(?<=data-csrf=")[^"]+|(?<="X-CSRF": ")[^"]+'
    r'|"(now|took)": [^,}]+|\d+ (minutes?|hours?|days?) ago|\d{1,2}:\d\d\b'
    r"|\d\d? \w+ 20\d\d|[0-9a-f]{32,}"
)


def served(place, names):
    """The API's description, its answers to some calls, and every page."""
    from starlette.testclient import TestClient

    from classmark.web.serve import create_app
    from classmark.workbench.team.desk import Desk

    with Desk(place) as desk:
        app = create_app(desk)
        texts = {"openapi": json.dumps(app.openapi(), indent=1, sort_keys=True)}
        with TestClient(app, base_url="http://127.0.0.1:8000") as client:
            client.post("/enter", data={"code": app.state.doors.code})
            cookie = client.cookies[app.state.doors.cookie]
            client.headers["X-CSRF"] = app.state.sessions.find(cookie).csrf
            for line in [
                *(f"GET {page}" for page in PAGES.split()),
                *CALLS.strip().splitlines(),
                *(f"GET {page}" for page in PAGES.split()),
            ]:
                verb, path, body = (*filled(line, names).split(" ", 2), "")[:3]
                answer = client.request(
                    verb, path, content=body or None,
                    headers={"content-type": "application/json"} if body else {},
                )  # fmt: skip
                text = CHANGING.sub("…", TIMES.sub("…", answer.text))
                texts[f"{len(texts):03} {line}"] = f"{answer.status_code}\n{text}"
    return texts


def filled(line, names):
    """A line with its names replaced."""
    return re.sub("[A-Z]{3,}", lambda m: names.get(m[0], m[0]), line)


def everything():
    """All results by name."""
    folder = Path(tempfile.mkdtemp())
    try:
        return {
            **estimators(), **index(folder), **helps(), **project(folder),
        }  # fmt: skip
    finally:
        shutil.rmtree(folder)


def compare(before, after):
    """Print every difference; return how many."""
    different = 0
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        different += 1
        print(f"--- {name}")
        if isinstance(old, str) and isinstance(new, str) and "\n" in old:
            lines = difflib.unified_diff(
                old.split("\n"), new.split("\n"), n=0, lineterm=""
            )
            print("\n".join(line[:200] for line in list(lines)[2:40]))
        else:
            print(f"  {old}\n  {new}")
    return different


def main():
    """Write or compare."""
    verb, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    results = json.loads(json.dumps(everything()))
    file = folder / "frozen.json"
    if verb == "write":
        file.write_text(json.dumps(results, indent=1))
        print(f"{len(results)} results frozen in {file}")
        return 0
    different = compare(json.loads(file.read_text()), results)
    print(f"{different} of {len(results)} results differ from {file}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
