"""The public types, checked by mypy and never run."""

import numpy as np
from numpy.typing import NDArray

import classmark as cm

analyzer: cm.Analyzer = cm.Analyzer(language="english", stop=True, digits="token")
terms: list[str] = analyzer("Some words")
vectorizer = cm.Vectorizer(analyzer=analyzer, weighting="pivoted", norm=None)
X = vectorizer.fit_transform(["one text", "another"])
columns: NDArray[np.int64] = cm.select_features(X, [[0], [1]])
ranker = cm.Rocchio(beta=16.0, gamma=4.0).fit(X, [[0], [1]])
scores: NDArray[np.float64] = ranker.decision_function(X)
order: NDArray[np.int64] = ranker.rank(X, k=1)
perceptron = cm.CategoryPerceptron(passes=2, average=True).partial_fit(X, [[0], [1]])
measured: dict[str, float] = cm.measures.category_ranking(scores, [[0], [1]])
tree = cm.Taxonomy([("a", "b")])
layers = tree.preference_layers(["b"], layers=3)
mmp = cm.MMP(loss=3, passes=1, average=True).partial_fit(X, [[0], [1]], n_labels=2)
live: cm.LiveVectorizer = cm.LiveVectorizer(weighting="log-tfidf")
stream = cm.PreferenceRanker(revisits=100).partial_fit(X, [[0], [1]])
ranks: NDArray[np.float64] = cm.pagerank(np.eye(2), damping=0.85)
liked = cm.ExampleQuery("auto").fit(X, X).partial_fit(no=X, known=[0]).undo()
likely: NDArray[np.int64] = liked.cut(10).rank(X, k=1)
svm = cm.RankingSVM(C=1.0, weighting="ir").fit(X, [1, 0], ["q", "q"])
said: list[tuple[str, str]] = cm.click_preferences(["a", "b"], ["b"], "skip-above")
trees: bool = cm.LambdaMART.installed()
screening = cm.Screening(X, [0])
down = cm.TopDownClassifier(tree, base="svm", beam=1, C=1.0).fit(X, ["b", "b"])
leaves: list[object] = down.predict(X)
flat = cm.FlatClassifier(base="logistic").fit(X, ["a", "b"])
crammer = cm.CrammerSingerSVM(C=1.0).fit(X, ["a", "b"])
smaller: cm.Taxonomy = cm.prune_taxonomy(tree, X, ["b", "b"], policy="bound")
report = cm.taxonomy_report(tree, X, ["b", "b"])
rare = cm.RareCategoryReranker(crammer, delta=0.1, ratio=2.0, votes=5)
placed = cm.TaxonomyRanker(tree, ["b"]).fit(X, [[0], [0]])


def spread_over(machines: cm.Machines) -> list[str]:
    """Two lines of work over machines."""
    counted: dict[int, int] = dict(machines.spread(len, [[1], [2, 3]]))
    with cm.SpreadIndex(machines, "index") as spread_index:
        return [hit.id for hit in spread_index.search("bees", k=len(counted))]
