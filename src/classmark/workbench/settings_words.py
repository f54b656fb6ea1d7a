"""The settings in words: what people choose first, and what each choice is called."""

from __future__ import annotations

from collections.abc import Mapping

from classmark.language import N_, _
from classmark.language import languages as languages_of_pages
from classmark.text import languages, stop_words

LANGUAGE = "text.language"  # a choice of the form; the file has the analyzer
CUSTOM, ANY = "custom", "any"
EVERYDAY = (
    "name", "language", LANGUAGE, "text.fields", "learning.min_df", "learning.grades",
    "learning.thresholds", "learning.rare", "search.log",
)  # fmt: skip
SECTIONS = {
    "text": N_(
        "How texts are split into words. Takes effect with the next training and "
        "indexing."
    ),
    "learning": N_("How the ranker learns. Takes effect with the next training."),
    "search": N_("What is logged, and how results are ranked. Takes effect at once."),
    "meaning": N_("Vectors in addition to words. Take effect with the next training."),
}  # those that a form shows
LABELS = {
    "name": N_("Name of the project"),
    "language": N_("Language of the pages"),
    LANGUAGE: N_("Language of the documents"),
    "text.fields": N_("Fields to read"),
    "text.analyzer": N_("Analyzer"),
    "learning.min_df": N_("Ignore rare words"),
    "learning.grades": N_("Primary categories"),
    "learning.thresholds": N_("Thresholds"),
    "learning.rare": N_("Second look at rare categories"),
    "learning.learner": N_("Learner"),
    "learning.C": N_("Cost of a wrong order (C)"),
    "learning.select_features": N_("Words kept per category"),
    "learning.strategy": N_("Use of the tree"),
    "learning.base": N_("Classifier at the nodes"),
    "learning.memory": N_("Memory for weights"),
    "learning.device": N_("What trains"),
    "learning.policy": N_("Rule for pruning"),
    "learning.bold": N_("Prune aggressively"),
    "search.log": N_("Log of searches"),
    "search.hybrid": N_("Meaning in search"),
    "search.meaning_weight": N_("Weight of meaning in search"),
    "search.approximate": N_("Approximate vector search"),
    "learning.weighting": N_("Weighting of words"),
    "learning.norm": N_("Scaling of texts"),
    "learning.slope": N_("Influence of length"),
    "learning.characters": N_("Character sequences"),
    "learning.first_line": N_("Weight of the first line"),
    "learning.loss": N_("Loss"),
    "learning.members": N_("Learners of an ensemble"),
    "learning.solver": N_("Optimiser"),
    "learning.passes": N_("Passes over the documents"),
    "learning.average": N_("Averaging"),
    "learning.vote": N_("Voting"),
    "learning.center": N_("Start at the average (center)"),
    "learning.prior": N_("Favour frequent categories (prior)"),
    "learning.noise": N_("Tolerance of small errors (noise)"),
    "learning.names": N_("Names of categories"),
    "learning.layers": N_("Layers of the tree"),
    "search.experiment": N_("Experiment with searches"),
    "meaning.source": N_("Source of vectors"),
    "meaning.model": N_("Model or folder"),
    "meaning.url": N_("Address of the server"),
    "meaning.allow_remote": N_("Allow a server on another machine"),
    "meaning.weight": N_("Weight of meaning"),
    "meaning.pooling": N_("Pooling"),
    "meaning.prefix": N_("Prefix"),
}
SAYS = {
    LANGUAGE: N_(
        "Determines which common words are ignored and which word endings are removed. "
        "Takes effect with the next training and indexing."
    ),
    "text.fields": N_("Field names, separated by commas; empty: all fields."),
    "learning.min_df": N_(
        "A word in so few documents is often a misspelling. Larger collections can "
        "afford a higher number."
    ),
    "learning.grades": N_(
        "Whether suggestions rank a primary category above the other categories of a "
        "document."
    ),
    "learning.thresholds": N_(
        "Whether the ranker also indicates which categories it would assign."
    ),
    "learning.rare": N_(
        "Close calls between a frequent and a rare category are decided again, without "
        "favouring the frequent one."
    ),
    "search.log": N_("Searches and opened results can be used to train the ranking."),
}
CHOICES: Mapping[str, Mapping[str, str]] = {
    "language": {"auto": N_("as the browser prefers"), **languages_of_pages()},
    "learning.min_df": {
        "1": N_("keep all words"),
        "2": N_("in fewer than 2 documents"),
        "3": N_("in fewer than 3 documents"),
        "5": N_("in fewer than 5 documents"),
        "10": N_("in fewer than 10 documents"),
    },
    "learning.grades": {
        "equal": N_("same as the others"),
        "layered": N_("ranked above the others"),
    },
    "learning.thresholds": {
        "none": N_("no thresholds"),
        "common": N_("one threshold for all categories"),
        "category": N_("a threshold for each category"),
    },
    "learning.rare": {"no": N_("no"), "yes": N_("yes")},
    "learning.learner": {
        "plm": N_("preference learning (plm)"),
        "mmp": N_("multiclass perceptron (mmp)"),
        "perceptron": N_("perceptron"),
        "loglinear": N_("log-linear model"),
        "rocchio": N_("Rocchio"),
        "ensemble": N_("several together (ensemble)"),
    },
    "learning.device": {
        "cpu": N_("the processors"),
        "gpu": N_("a graphics card (gpu)"),
    },
    "learning.strategy": {
        "auto": N_("automatic"),
        "plain": N_("ignore the tree"),
        "flat": N_("all leaves at once"),
        "top-down": N_("from the top down"),
        "pruned": N_("from the top down, simplified"),
    },
    "learning.weighting": {
        "binary": N_("whether it occurs"),
        "count": N_("how often it occurs"),
        "tf": N_("frequency (tf)"),
        "log": N_("logarithm of the frequency"),
        "tfidf": N_("frequency and rarity (tf-idf)"),
        "log-tfidf": N_("logarithm of the frequency, and rarity (tf-idf)"),
        "relative-tfidf": N_("relative frequency and rarity"),
        "pivoted": N_("frequency and rarity, adjusted to length (pivoted)"),
    },
    "learning.norm": {
        "auto": N_("automatic"),
        "l2": N_("to length 1 (l2)"),
        "none": N_("not at all"),
    },
    "learning.loss": {
        "auto": N_("automatic"),
        "dom": N_("one error per right category (dom)"),
        "dis": N_("one error per wrong pair (dis)"),
        "dme": N_("one error per wrong category (dme)"),
        "dom-dme": N_("per right and per wrong category (dom-dme)"),
        "svm": N_("support vector machine (svm)"),
        "zero-one": N_("one error per document (zero-one)"),
        "1": N_("of mmp, 1"),
        "2": N_("of mmp, 2"),
        "3": N_("of mmp, 3"),
    },
    "learning.solver": {
        "auto": N_("automatic"),
        "dual": N_("dual ascent"),
        "lbfgs": "L-BFGS",
        "boosting": N_("boosting"),
    },
    "learning.average": {"auto": N_("automatic"), "yes": N_("yes"), "no": N_("no")},
    "learning.names": {"auto": N_("automatic"), "yes": N_("yes"), "no": N_("no")},
    "learning.base": {
        "svm": N_("support vector machine (svm)"),
        "logistic": N_("logistic regression"),
        "naive-bayes": N_("naive Bayes"),
    },
    "learning.policy": {
        "meta": N_("those chosen by a learned rule"),
        "bound": N_("those that cost more than they help"),
        "random": N_("random, for comparison"),
        "flatten-top": N_("the top layer"),
        "flatten-bottom": N_("the lowest layer of inner categories"),
        "flatten-alternate": N_("every other layer"),
    },
    "search.hybrid": {
        "auto": N_("automatic"),
        "no": N_("words alone"),
        "weight": N_("by its scores"),
        "ranks": N_("by its ranks"),
    },
    "meaning.source": {
        "none": N_("none"),
        "static": N_("a table of word vectors"),
        "sentences": N_("a sentence model"),
        "server": N_("your own server"),
        "own": N_("imported with the documents"),
    },
    "search.log": {
        "no": N_("log nothing"),
        "anonymous": N_("log searches without names"),
        "named": N_("log searches with names"),
    },
}


def language_choices() -> dict[str, str]:
    """Every language by name, and what stands for none of them."""
    names = {name: name.capitalize() for name in languages()}
    return {"english": N_("English"), **names, ANY: N_("Several, or another one")}


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


INFO = {
    "weighting": "learning.weighting",
    "learner": "learning.learner",
    "strategy": "learning.strategy",
    "its learner": "learning.learner",
    "its strategy": "learning.strategy",
    "its base": "learning.base",
    "meaning": "meaning.source",
}  # lines of what ``info`` lists → the settings that they have


def info_in_words(what: str, value: object) -> object:
    """A value that ``info`` lists, in the words of the form of settings.

    >>> info_in_words("learner", "plm"), info_in_words("model in service", "000012")
    ('preference learning (plm)', '12')
    """
    text = str(value)
    if what == "analyzer":
        language = language_of_analyzer(text)
        return _(language_choices().get(language, N_("as set under Advanced")))
    if what == "model in service":
        return text.lstrip("0") if value is not None else None
    words = CHOICES.get(INFO.get(what, ""), {})
    return _(words[text]) if text in words else value


LANGUAGE_NAMES = (  # of the documents, marked for translation
    N_("Arabic"), N_("Armenian"), N_("Basque"), N_("Catalan"), N_("Czech"),
    N_("Danish"), N_("Dutch"), N_("Esperanto"), N_("Estonian"), N_("Finnish"),
    N_("French"), N_("German"), N_("Greek"), N_("Hindi"), N_("Hungarian"),
    N_("Indonesian"), N_("Irish"), N_("Italian"), N_("Lithuanian"), N_("Nepali"),
    N_("Norwegian"), N_("Persian"), N_("Polish"), N_("Portuguese"), N_("Romanian"),
    N_("Russian"), N_("Serbian"), N_("Sesotho"), N_("Spanish"), N_("Swedish"),
    N_("Tamil"), N_("Turkish"), N_("Yiddish"),
)  # fmt: skip
