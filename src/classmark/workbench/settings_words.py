"""The settings in words: what people choose first, and what each choice is called."""

from __future__ import annotations

from collections.abc import Mapping

from classmark.text import languages, stop_words

LANGUAGE = "text.language"  # a choice of the form; the file has the analyzer
CUSTOM, ANY = "custom", "any"
EVERYDAY = (
    "name", LANGUAGE, "text.fields", "learning.min_df", "learning.grades",
    "learning.thresholds", "learning.rare", "search.log",
)  # fmt: skip
LABELS = {
    "name": "Name of the project",
    LANGUAGE: "Language of the documents",
    "text.fields": "Fields that are read",
    "text.analyzer": "Analyzer",
    "learning.min_df": "Ignore rare words",
    "learning.grades": "Primary categories",
    "learning.thresholds": "Does a category belong?",
    "learning.rare": "Second look at rare categories",
    "learning.learner": "Learner",
    "learning.C": "Price of a wrong order (C)",
    "learning.select_features": "Words kept per category",
    "learning.strategy": "Use of the tree",
    "learning.base": "Classifier at the nodes",
    "learning.memory": "Memory for weights",
    "learning.policy": "Rule for pruning",
    "learning.bold": "Prune boldly",
    "search.log": "Log of searches",
    "search.hybrid": "Meaning in search",
    "search.meaning_weight": "Weight of meaning in search",
    "search.approximate": "Approximate vector search",
}
SAYS = {
    LANGUAGE: "Decides which words are too common to matter, and which endings are "
    "dropped. Holds from the next training and indexing on.",
    "text.fields": "Names of fields, with commas between; empty: all fields.",
    "learning.min_df": "A word in so few documents is often a misspelling. Larger "
    "collections can afford a higher number.",
    "learning.grades": "Whether suggestions put a primary category above the others of "
    "a document.",
    "learning.thresholds": "Lets the ranker say, beside the order, which categories it "
    "would assign.",
    "learning.rare": "Close calls between a frequent and a rare category are decided "
    "again, in favour of neither.",
    "search.log": "Searches and the results that were opened can train the order of "
    "results.",
}
CHOICES: Mapping[str, Mapping[str, str]] = {
    "learning.min_df": {
        "1": "keep every word",
        "2": "in fewer than 2 documents",
        "3": "in fewer than 3 documents",
        "5": "in fewer than 5 documents",
        "10": "in fewer than 10 documents",
    },
    "learning.grades": {
        "equal": "count like all others",
        "layered": "stand above the others",
    },
    "learning.thresholds": {
        "none": "leave it to me",
        "common": "say so, with one limit for all",
        "category": "say so, with a limit for each category",
    },
    "learning.rare": {"no": "no", "yes": "yes"},
    "learning.learner": {
        "plm": "preference learning (plm)",
        "mmp": "multiclass perceptron (mmp)",
        "perceptron": "perceptron",
        "loglinear": "log-linear model",
        "rocchio": "Rocchio",
    },
    "learning.strategy": {
        "auto": "chosen by size",
        "plain": "ignore the tree",
        "flat": "all leaves at once",
        "top-down": "from the top down",
        "pruned": "from the top down, simplified",
    },
    "search.log": {
        "no": "keep nothing",
        "anonymous": "keep searches without names",
        "named": "keep searches with names",
    },
}


def language_choices() -> dict[str, str]:
    """Every language by name, and what stands for none of them."""
    names = {name: name.capitalize() for name in languages()}
    return {"english": "English", **names, ANY: "Several, or another one"}


def analyzer_of(language: str) -> str:
    """The analyzer of a language.

    >>> analyzer_of("english")
    'words|lower|stop(english)|snowball(english)'
    >>> analyzer_of("any")
    'words|lower'
    """
    if language == ANY:
        return "words|lower"
    stops = f"|stop({language})" if stop_words(language) else ""
    return f"words|lower{stops}|snowball({language})"


def language_of_analyzer(analyzer: str) -> str:
    """The language whose analyzer this is, or "custom".

    >>> language_of_analyzer("words|lower"), language_of_analyzer("words|length(3)")
    ('any', 'custom')
    """
    for language in language_choices():
        if analyzer == analyzer_of(language):
            return language
    return CUSTOM
