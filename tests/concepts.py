"""A source of vectors for tests: words of one concept share a direction."""

import numpy as np

from classmark.meaning.sources import MeaningSource
from classmark.workbench.settings import MeaningSettings

CONCEPTS = {
    "bees": {"honey", "hive", "bee", "bees", "apiary", "drone", "nectar", "swarm"},
    "bread": {"dough", "yeast", "oven", "loaf", "rye", "baker", "crust"},
    "law": {"court", "judge", "lawsuit", "magistrate", "verdict", "tenant"},
}
STATIC = MeaningSettings("static")


class ConceptVectors(MeaningSource):
    """The number of a text's words in each concept; a text of none has zeros."""

    name, digest, weight = "concepts", "c0ffee", 0.5
    dimension = len(CONCEPTS)

    def __init__(self):
        self.encoded = []

    def _vectors(self, texts):
        self.encoded += texts
        words = [text.lower().replace(",", " ").split() for text in texts]
        return np.array(
            [
                [sum(w in each for w in some) for each in CONCEPTS.values()]
                for some in words
            ],
            np.float32,
        )


def use_concepts(monkeypatch, source=None):
    """Let projects whose source is static have these vectors; return their source."""
    source = source or ConceptVectors()
    monkeypatch.setattr("classmark.workbench.meaning.source_from", lambda _: source)
    return source
