"""Put texts in their place: category ranking, query by example and search.

The public names are imported when they are first used, so that ``import classmark``
stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from classmark import datasets as datasets
    from classmark import measures as measures
    from classmark.clusters.agglomerative import Agglomerative as Agglomerative
    from classmark.clusters.agglomerative import near_duplicates as near_duplicates
    from classmark.clusters.kmeans import SphericalKMeans as SphericalKMeans
    from classmark.clusters.kmeans import name_clusters as name_clusters
    from classmark.clusters.mixture import SoftMixture as SoftMixture
    from classmark.corpus.counting import Statistics as Statistics
    from classmark.corpus.documents import Document as Document
    from classmark.examples.query import ExampleQuery as ExampleQuery
    from classmark.examples.screening import Screening as Screening
    from classmark.examples.screening import ScreeningAnswer as ScreeningAnswer
    from classmark.examples.screening import ScreeningBatch as ScreeningBatch
    from classmark.examples.screening import ScreeningProgress as ScreeningProgress
    from classmark.examples.screening import ScreeningQuery as ScreeningQuery
    from classmark.examples.screening import StoppingRule as StoppingRule
    from classmark.hierarchies.back_off import BackOff as BackOff
    from classmark.hierarchies.back_off import Placements as Placements
    from classmark.hierarchies.back_off import PlacementSummary as PlacementSummary
    from classmark.hierarchies.flat import CrammerSingerSVM as CrammerSingerSVM
    from classmark.hierarchies.flat import FlatClassifier as FlatClassifier
    from classmark.hierarchies.held_out import NodeLearner as NodeLearner
    from classmark.hierarchies.hr_svm import HierarchicalSVM as HierarchicalSVM
    from classmark.hierarchies.pruning import PruningOptions as PruningOptions
    from classmark.hierarchies.pruning import PruningReport as PruningReport
    from classmark.hierarchies.pruning import prune_taxonomy as prune_taxonomy
    from classmark.hierarchies.pruning import pruning_report as pruning_report
    from classmark.hierarchies.report import TaxonomyReport as TaxonomyReport
    from classmark.hierarchies.report import taxonomy_report as taxonomy_report
    from classmark.hierarchies.rerank import (
        RareCategoryReranker as RareCategoryReranker,
    )
    from classmark.hierarchies.taxonomy_ranker import TaxonomyRanker as TaxonomyRanker
    from classmark.hierarchies.top_down import TopDownClassifier as TopDownClassifier
    from classmark.index.checking import IndexCheck as IndexCheck
    from classmark.index.field import StoredField as StoredField
    from classmark.index.index import Index as Index
    from classmark.index.models import MODELS as MODELS
    from classmark.index.models import FieldStatistics as FieldStatistics
    from classmark.index.models import Model as Model
    from classmark.index.models import Parameter as Parameter
    from classmark.index.models import TermStatistics as TermStatistics
    from classmark.index.search import Explanation as Explanation
    from classmark.index.search import Hit as Hit
    from classmark.index.search import Question as Question
    from classmark.index.search import Searcher as Searcher
    from classmark.index.snapshot import Snapshot as Snapshot
    from classmark.links.pagerank import pagerank as pagerank
    from classmark.ltr import LambdaMART as LambdaMART
    from classmark.ltr import ListNet as ListNet
    from classmark.ltr import PairwiseLogistic as PairwiseLogistic
    from classmark.ltr import PointwiseSVM as PointwiseSVM
    from classmark.ltr import RankingSVM as RankingSVM
    from classmark.ltr import SelectedParams as SelectedParams
    from classmark.ltr import normalise_per_query as normalise_per_query
    from classmark.ltr import select_over_queries as select_over_queries
    from classmark.ltr.judged import QueryRanker as QueryRanker
    from classmark.machines.cluster import Machines as Machines
    from classmark.machines.cluster import RemoteObjects as RemoteObjects
    from classmark.machines.portion import PortionStep as PortionStep
    from classmark.machines.portion import RowSource as RowSource
    from classmark.machines.rows import SpreadRows as SpreadRows
    from classmark.machines.searching import SpreadIndex as SpreadIndex
    from classmark.machines.searching import SpreadSearcher as SpreadSearcher
    from classmark.measures import accuracy_bound as accuracy_bound
    from classmark.measures.ranking_errors import ranking_error as ranking_error
    from classmark.preferences.clicks import click_preferences as click_preferences
    from classmark.preferences.graph import LOSSES as LOSSES
    from classmark.preferences.graph import PreferenceGraph as PreferenceGraph
    from classmark.preferences.graph import decompose as decompose
    from classmark.preferences.labels import number_labels as number_labels
    from classmark.problems import Mistake as Mistake
    from classmark.rankers.calibration import Calibrator as Calibrator
    from classmark.rankers.linear import Evidence as Evidence
    from classmark.rankers.linear import LinearRanker as LinearRanker
    from classmark.rankers.live import LiveTextRanker as LiveTextRanker
    from classmark.rankers.loglinear import LogLinearRanker as LogLinearRanker
    from classmark.rankers.online import MMP as MMP
    from classmark.rankers.online import CategoryPerceptron as CategoryPerceptron
    from classmark.rankers.preference import PreferenceRanker as PreferenceRanker
    from classmark.rankers.rocchio import Rocchio as Rocchio
    from classmark.rankers.text_ranker import Suggestion as Suggestion
    from classmark.rankers.text_ranker import TextRanker as TextRanker
    from classmark.ranking import Ranking as Ranking
    from classmark.solvers.ascent import Solution as Solution
    from classmark.solvers.hinge import Hinges as Hinges
    from classmark.sparse import Rows as Rows
    from classmark.taxonomy.tree import Lineage as Lineage
    from classmark.taxonomy.tree import Taxonomy as Taxonomy
    from classmark.text.analyzer import Analyzer as Analyzer
    from classmark.weighting.live import Drift as Drift
    from classmark.weighting.live import LiveVectorizer as LiveVectorizer
    from classmark.weighting.selection import select_features as select_features
    from classmark.weighting.vectorizer import Vectorizer as Vectorizer

__version__ = "0.1.0.dev0"

_HOMES = {
    "Agglomerative": "classmark.clusters.agglomerative",
    "Analyzer": "classmark.text.analyzer",
    "BackOff": "classmark.hierarchies.back_off",
    "Calibrator": "classmark.rankers.calibration",
    "CategoryPerceptron": "classmark.rankers.online",
    "CrammerSingerSVM": "classmark.hierarchies.flat",
    "Document": "classmark.corpus.documents",
    "Drift": "classmark.weighting.live",
    "Evidence": "classmark.rankers.linear",
    "ExampleQuery": "classmark.examples.query",
    "Explanation": "classmark.index.search",
    "FieldStatistics": "classmark.index.models",
    "FlatClassifier": "classmark.hierarchies.flat",
    "HierarchicalSVM": "classmark.hierarchies.hr_svm",
    "Hinges": "classmark.solvers.hinge",
    "Hit": "classmark.index.search",
    "Index": "classmark.index.index",
    "IndexCheck": "classmark.index.checking",
    "LOSSES": "classmark.preferences.graph",
    "LambdaMART": "classmark.ltr",
    "Lineage": "classmark.taxonomy.tree",
    "LinearRanker": "classmark.rankers.linear",
    "ListNet": "classmark.ltr",
    "LiveTextRanker": "classmark.rankers.live",
    "LiveVectorizer": "classmark.weighting.live",
    "LogLinearRanker": "classmark.rankers.loglinear",
    "MMP": "classmark.rankers.online",
    "MODELS": "classmark.index.models",
    "Machines": "classmark.machines.cluster",
    "Mistake": "classmark.problems",
    "Model": "classmark.index.models",
    "NodeLearner": "classmark.hierarchies.held_out",
    "PairwiseLogistic": "classmark.ltr",
    "Parameter": "classmark.index.models",
    "PlacementSummary": "classmark.hierarchies.back_off",
    "Placements": "classmark.hierarchies.back_off",
    "PointwiseSVM": "classmark.ltr",
    "PortionStep": "classmark.machines.portion",
    "PreferenceGraph": "classmark.preferences.graph",
    "PreferenceRanker": "classmark.rankers.preference",
    "PruningOptions": "classmark.hierarchies.pruning",
    "PruningReport": "classmark.hierarchies.pruning",
    "QueryRanker": "classmark.ltr.judged",
    "Question": "classmark.index.search",
    "Ranking": "classmark.ranking",
    "RankingSVM": "classmark.ltr",
    "RareCategoryReranker": "classmark.hierarchies.rerank",
    "RemoteObjects": "classmark.machines.cluster",
    "Rocchio": "classmark.rankers.rocchio",
    "RowSource": "classmark.machines.portion",
    "Rows": "classmark.sparse",
    "Screening": "classmark.examples.screening",
    "ScreeningAnswer": "classmark.examples.screening",
    "ScreeningBatch": "classmark.examples.screening",
    "ScreeningProgress": "classmark.examples.screening",
    "ScreeningQuery": "classmark.examples.screening",
    "Searcher": "classmark.index.search",
    "SelectedParams": "classmark.ltr",
    "Snapshot": "classmark.index.snapshot",
    "SoftMixture": "classmark.clusters.mixture",
    "Solution": "classmark.solvers.ascent",
    "SphericalKMeans": "classmark.clusters.kmeans",
    "SpreadIndex": "classmark.machines.searching",
    "SpreadRows": "classmark.machines.rows",
    "SpreadSearcher": "classmark.machines.searching",
    "Statistics": "classmark.corpus.counting",
    "StoppingRule": "classmark.examples.screening",
    "StoredField": "classmark.index.field",
    "Suggestion": "classmark.rankers.text_ranker",
    "Taxonomy": "classmark.taxonomy.tree",
    "TaxonomyRanker": "classmark.hierarchies.taxonomy_ranker",
    "TaxonomyReport": "classmark.hierarchies.report",
    "TermStatistics": "classmark.index.models",
    "TextRanker": "classmark.rankers.text_ranker",
    "TopDownClassifier": "classmark.hierarchies.top_down",
    "Vectorizer": "classmark.weighting.vectorizer",
    "accuracy_bound": "classmark.measures",
    "click_preferences": "classmark.preferences.clicks",
    "decompose": "classmark.preferences.graph",
    "name_clusters": "classmark.clusters.kmeans",
    "near_duplicates": "classmark.clusters.agglomerative",
    "normalise_per_query": "classmark.ltr",
    "number_labels": "classmark.preferences.labels",
    "pagerank": "classmark.links.pagerank",
    "prune_taxonomy": "classmark.hierarchies.pruning",
    "pruning_report": "classmark.hierarchies.pruning",
    "ranking_error": "classmark.measures.ranking_errors",
    "select_features": "classmark.weighting.selection",
    "select_over_queries": "classmark.ltr",
    "taxonomy_report": "classmark.hierarchies.report",
}
_ROOMS = ("datasets", "measures")
__all__ = [  # noqa: PLE0604, the names are those of _HOMES
    "__version__",
    *_HOMES,
    *_ROOMS,
]


def __getattr__(name: str) -> Any:
    """Import a public name's home at its first use (PEP 562)."""
    if name in _ROOMS:
        return import_module(f"classmark.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'classmark' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
