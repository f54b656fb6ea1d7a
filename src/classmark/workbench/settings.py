"""Settings: the file ``classmark.toml``, read, validated, explained and changed.

The dataclasses' metadata is what pydantic validates by and the Settings page shows.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, Field, asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from classmark.language import N_, _, codes
from classmark.problems import DamagedFolder, Mistake, UnreadableFile, worded
from classmark.workbench.older_settings import with_loss, with_reading

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails

FILE, FORMAT = "classmark.toml", 1
SCHEMA = re.compile("[a-z][a-z0-9_]{0,62}")
YES_NO = ("no", "yes")
MMP_LOSSES = ("1", "2", "3")
LAYERED = ("plm", "loglinear")  # learners of preferences, not of labels alone
NUMBERS: dict[type, str] = {int: N_("a whole number"), float: N_("a number")}
_CLOSED = {"extra": "forbid"}


def _setting(
    default: Any,
    description: str,
    choices: str = "",
    *,
    extensible: bool = False,
    most: float | None = None,
    by_name: bool = False,
) -> Any:
    """A field with the text that explains it, and pydantic's rules for its values.

    extensible : a file may have others, by which a learner or loss is registered;
    most : the largest that a number may be;  by_name : whether its name must be said.
    """
    names = YES_NO if isinstance(default, bool) else tuple(choices.split())
    about: dict[str, Any] = {"description": description, "examples": names}
    about["strict"] = not isinstance(default, str | tuple)
    if type(default) in NUMBERS:
        about |= {"ge": 0, "lt": 1e9} if most is None else {"ge": 0, "le": most}
    if choices and not extensible:
        about["pattern"] = f"^({'|'.join(names)})$"
    return field(default=default, metadata=about, kw_only=by_name)


@dataclass(frozen=True, slots=True)
class TextSettings:
    """How texts become terms; ``fields`` empty means all fields."""

    __pydantic_config__ = _CLOSED
    analyzer: str = _setting(
        "words|lower|stop(english)|snowball(english)",
        "How texts are split into words: steps separated by |.",
    )
    fields: tuple[str, ...] = _setting(
        (), "The fields of a document to read, separated by commas; empty: all."
    )


@dataclass(frozen=True, slots=True)
class LearningSettings:
    """How terms are weighted and what learns from them."""

    __pydantic_config__ = _CLOSED
    weighting: str = _setting(
        "log-tfidf",
        "How the weight of a word depends on how often it occurs.",
        "binary count tf log tfidf log-tfidf relative-tfidf pivoted",
    )
    norm: str = _setting(
        "auto",
        "Whether the weights of each text are scaled to length 1 (l2), so that long "
        "texts do not count more; auto: yes, except with pivoted weighting, which "
        "allows for the length itself.",
        "auto l2 none",
    )
    slope: float = _setting(
        0.3,
        "For pivoted weighting without scaling: how much length counts.",
        most=1,
    )
    min_df: int = _setting(
        1, "Words that occur in fewer documents than this are ignored."
    )
    characters: int = _setting(
        4,
        "Length of the character sequences within words that are used in addition to "
        "words; 0: words only. 4 helps on average, most of all without stemming.",
        most=9,
        by_name=True,
    )
    first_line: int = _setting(
        2,
        "How many times the first line, usually the title, counts; 0 and 1: once.",
        most=9,
        by_name=True,
    )
    select_features: int = _setting(
        0,
        "How many of the most telling words per category training keeps: at least "
        "this many, and at least one in 40; 0: all words. 100 is usual.",
        by_name=True,
    )
    learner: str = _setting(
        "plm",
        "The method that learns to rank the categories. plm, mmp and perceptron learn "
        "from every decision at once; loglinear, rocchio and an ensemble only by "
        "training.",
        "plm mmp perceptron loglinear rocchio ensemble",
        extensible=True,
    )
    members: str = _setting(
        "plm loglinear tree",
        "For an ensemble: the learners in it; tree is plm that begins at the tree.",
        by_name=True,
    )
    loss: str = _setting(
        "auto",
        "For plm and loglinear: which wrongly ordered pairs of categories count as "
        "one error; auto: dom, or dis if plm chooses C itself and ranks better with "
        "it. For mmp: how a step is scaled, 1, 2 or 3; anything else means 1.",
        "auto dom dis dme dom-dme svm zero-one 1 2 3",
        extensible=True,
    )
    solver: str = _setting(
        "auto",
        "For loglinear: the optimiser. auto: dual, which is fast, for labels alone "
        "with the loss dom, else lbfgs; boosting, the one of the paper, is slow.",
        "auto dual lbfgs boosting",
        by_name=True,
    )
    passes: int = _setting(
        0,
        "For mmp and perceptron: how many times training goes through all documents; "
        "0: five times for mmp, once for perceptron.",
        by_name=True,
    )
    average: str = _setting(
        "auto",
        "For mmp and perceptron: whether to rank by the average of all intermediate "
        "models; auto: only mmp with loss 1.",
        "auto yes no",
        by_name=True,
    )
    vote: bool = _setting(
        False,
        "For mmp and perceptron: whether all intermediate models vote; by training "
        "only.",
        by_name=True,
    )
    C: float = _setting(
        0.0,
        "The cost of a wrong order; 0: the learner's default. plm chooses it from the "
        "documents, together with center, prior and noise unless these are set.",
    )
    center: float = _setting(
        5.0,
        "For plm: how much learning starts from each category's average; 0: not at "
        "all.",
    )
    prior: float = _setting(
        0.0,
        "For plm with C set: how much frequent categories are favoured before a word "
        "is read, as the weight of a word that all documents contain; 0: not at all.",
        by_name=True,
    )
    noise: float = _setting(
        0.0,
        "For plm with C set: up to what size errors count by their squares, so that "
        "small ones hardly count; 0: every error counts by its size.",
        by_name=True,
    )
    names: str = _setting(
        "auto",
        "Whether the names of categories count in addition to what was learned about "
        "them; auto: if that ranks test documents better.",
        "auto yes no",
        by_name=True,
    )
    grades: str = _setting(
        "equal",
        "Whether a document's primary category is to be ranked above its others.",
        "equal layered",
    )
    thresholds: str = _setting(
        "none",
        "For plm: whether to learn a score from which a category is considered "
        "assigned: none, one for all categories, or one for each.",
        "none common category",
    )
    layers: int = _setting(
        0,
        "For plm and loglinear: how many layers of distance in the tree are told "
        "apart for a document: its categories, their siblings, and so on; 0: none.",
        by_name=True,
    )
    strategy: str = _setting(
        "auto",
        "How the tree of categories is used; auto: depends on its size.",
        "auto plain flat top-down pruned",
    )
    base: str = _setting(
        "svm",
        "The classifier used at each node of the tree.",
        "svm logistic naive-bayes",
    )
    memory: str = _setting("4GB", "The memory that the weights may use.")
    device: str = _setting(
        "cpu",
        "For plm: what trains, the processors, or a graphics card (gpu) all categories "
        "at once, whatever their tree: for very many categories.",
        "cpu gpu",
        by_name=True,
    )
    rare: bool = _setting(
        False,
        "Whether close calls that involve a rare category are decided a second time.",
    )
    policy: str = _setting(
        "meta",
        "The rule by which nodes are removed from a pruned tree.",
        "meta bound random flatten-top flatten-bottom flatten-alternate",
        extensible=True,
    )
    bold: bool = _setting(
        False, "Whether nodes are also removed where the gain is uncertain."
    )

    @property
    def learned_thresholds(self) -> str | None:
        """The ``thresholds`` of a ranker: "common", "category" or None."""
        return None if self.thresholds == "none" else self.thresholds

    @property
    def problem(self) -> str:
        """Which two settings do not go together, and the remedy; "": none.

        >>> LearningSettings(loss="3").problem
        "loss is '3', which is one of mmp: use learner mmp, or loss dom"
        """
        if self.loss in MMP_LOSSES and self.learner != "mmp":
            return _(
                "loss is %(loss)r, which is one of mmp: use learner mmp, or loss dom",
                loss=self.loss,
            )
        if self.vote and self.average == "yes":
            return _("vote is yes beside average: use one of the two")
        for name in ("characters", "layers"):
            if getattr(self, name) == 1:
                return _("%(name)s is 1: use 2 or more, or 0", name=name)
        if self.learned_thresholds and (self.layers or self.names == "yes"):
            other = "layers is" if self.layers else "names is yes"
            return _("%(other)s beside thresholds: use one of the two", other=other)
        if self.layers and (reason := self._why_no_layers()):
            return _("layers is %(n)s, %(reason)s", n=self.layers, reason=reason)
        return ""

    def _why_no_layers(self) -> str:
        if self.learner not in LAYERED:
            return _(
                "and %(learner)s learns from right and wrong alone: use learner plm or "
                "loglinear, or layers 0",
                learner=self.learner,
            )
        if self.learner == "plm" and self.strategy in {"top-down", "pruned"}:
            return _(
                "and the strategy %(strategy)s decides at each node by itself: use "
                "strategy auto, plain or flat, or layers 0",
                strategy=self.strategy,
            )
        if self.strategy == "flat" and self.base != "svm":
            return _(
                "and the base %(base)s knows none: use base svm, or layers 0",
                base=self.base,
            )
        if self.learner == "plm" and self.loss == "svm":
            return _("and the loss svm knows none: use another loss, or layers 0")
        return ""

    @property
    def scaled(self) -> str | None:
        """The ``norm`` of a vectorizer: "l2" or None.

        >>> LearningSettings("pivoted").scaled, LearningSettings("tfidf").scaled
        (None, 'l2')
        """
        automatic = None if self.weighting == "pivoted" else "l2"
        return {"auto": automatic, "none": None}.get(self.norm, self.norm)


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Whether searches and clicks are kept, and whether meaning counts beside words.

    log : what is kept of a search is its time, its words, the ids and scores shown and
    what was opened from them; the user's name if "named".
    """

    __pydantic_config__ = _CLOSED
    log: str = _setting(
        "no",
        "Whether searches and opened results are logged, and whether with names.",
        "no anonymous named",
    )
    experiment: str = _setting(
        "no",
        "What logged searches try out. model, words or the number of a ranker: mix in "
        "the results of the model alone, of words alone or of that ranker; swaps: "
        "swap neighbouring results at random; no: nothing.",
    )
    hybrid: str = _setting(
        "auto",
        "Whether meaning counts in addition to words: weight, by its scores; ranks, "
        "by its ranks; no; auto: by its scores if nine in ten documents have a "
        "vector.",
        "auto no weight ranks",
    )
    meaning_weight: float = _setting(
        2.0,
        "The weight of meaning relative to the word score of the best hit.",
        most=100,
    )
    approximate: bool = _setting(
        False,
        "Whether similar vectors are found by a graph: faster, but some are missed.",
    )

    def is_logged(self, override: bool | None = None) -> bool:
        """Whether a search is logged: ``override``, or by default the setting."""
        return self.log != "no" if override is None else override

    @property
    def problem(self) -> str:
        """What its experiment cannot be, and the remedy; "": nothing."""
        if re.fullmatch(r"no|swaps|model|words|\d+", self.experiment):
            return ""
        return _(
            "experiment is %(name)r: use no, swaps, model, words or the number of a "
            "ranker",
            name=self.experiment,
        )


@dataclass(frozen=True, slots=True)
class MeaningSettings:
    """Where vectors of meaning come from, and how much they count beside words."""

    __pydantic_config__ = _CLOSED
    source: str = _setting(
        "none",
        "Where vectors come from: a table of word vectors (static), a sentence model "
        "(sentences), your own server (server), or imported with the documents (own).",
        "none static sentences server own",
    )
    model: str = _setting(
        "",
        "The folder of the table or of the sentence model, or the name of the "
        "server's model; empty: the table that comes with classmark[meaning].",
    )
    url: str = _setting(
        "",
        "The address of the server, for example http://127.0.0.1:8080/v1/embeddings.",
    )
    allow_remote: bool = _setting(
        False,
        "Whether the server may be on another machine; all texts are then sent there.",
    )
    weight: float = _setting(
        0.0,
        "The weight of meaning relative to words; 0: the default of the source, or, "
        "with 200 or more labelled documents, what works best on test documents.",
        most=100,
    )
    pooling: str = _setting(
        "",
        "For a sentence model: mean, cls, max or lasttoken; empty: as in its folder.",
    )
    prefix: str = _setting(
        "",
        "For a sentence model: text put before each document; empty: as in its folder.",
    )

    @property
    def remembered(self) -> dict[str, Any]:
        """As models remember it, by name; nothing for words alone."""
        return {} if self.source == "none" else {"meaning": asdict(self)}

    @property
    def problem(self) -> str:
        """Which two settings do not go together, and the remedy; "": none.

        >>> MeaningSettings("sentences").problem
        'model is empty: give the folder of the sentence model'
        """
        if self.source == "sentences" and not self.model:
            return _("model is empty: give the folder of the sentence model")
        if self.source == "server" and not (self.url and self.model):
            return _("url or model is empty: give the server's address and its model")
        return ""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where documents and decisions are kept: a file here, or a PostgreSQL server.

    url : postgresql://user@host/database, without a password;  schema : the project's
    own part of that database.  Without a url: the file store.sqlite.
    """

    __pydantic_config__ = _CLOSED
    url: str = ""
    schema: str = ""


BLANK = f"""\
# A Classmark project. Edit by hand; unknown keys are refused.
format = {FORMAT}

[text]  # {TextSettings.__doc__}

[learning]  # {LearningSettings.__doc__}

[search]  # Whether searches are kept (no, anonymous, named), and what ranks them.

[meaning]  # {MeaningSettings.__doc__}
"""


@dataclass(frozen=True, slots=True)
class Settings:
    """A project's settings."""

    __pydantic_config__ = _CLOSED
    name: str = _setting(MISSING, "The name of the project, shown on every page.")
    language: str = _setting(
        "auto",
        "The language of the pages unless a person chooses one; auto: as the browser "
        "prefers.",
        " ".join(["auto", *codes()]),
        by_name=True,
    )
    text: TextSettings = field(default_factory=TextSettings)
    learning: LearningSettings = field(default_factory=LearningSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    meaning: MeaningSettings = field(default_factory=MeaningSettings)
    store: StoreSettings = field(default_factory=StoreSettings)


def read_settings(folder: Path) -> Settings:
    """Read ``classmark.toml``; unknown keys and newer formats are refused."""
    path = folder / FILE
    if not path.is_file():
        raise DamagedFolder(
            f"{folder} is not a Classmark project (it has no {FILE}): "
            + worded("make one with: classmark init {folder}", folder=folder)
        )
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise UnreadableFile(path, None, f"{problem}: correct the file") from problem
    version = values.pop("format", None)
    if not isinstance(version, int):
        raise UnreadableFile(path, None, "the line 'format = 1' is missing: add it")
    if version > FORMAT:
        raise DamagedFolder(
            f"{path} has format {version}, this program reads up to {FORMAT}: "
            "upgrade classmark"
        )
    if isinstance(learning := values.get("learning"), dict):
        learning = values["learning"] = with_reading(learning)
        if learning.keys() & {"cost", "decomposition"}:
            from classmark.estimator import warn_renamed

            warn_renamed(f"{path}, [learning]", "cost or decomposition", "loss")
            values["learning"] = with_loss(learning)
    try:
        return validated(values)
    except Mistake as problem:
        raise UnreadableFile(path, None, str(problem)) from problem


def validated(values: Mapping[str, Any]) -> Settings:
    """The settings of a mapping; the first value that does not fit is a ``Mistake``.

    >>> validated({"name": "Shelf", "learning": {"C": 2}}).learning.C
    2.0
    """
    from pydantic import ValidationError

    try:
        settings: Settings = _validator().validate_python(values)
    except ValidationError as errors:
        raise Mistake(_explained(errors.errors(include_url=False)[0])) from None
    if problem := store_problem(settings.store):
        raise Mistake(f"store.{problem}")
    for section in ("learning", "search", "meaning"):
        if problem := getattr(settings, section).problem:
            raise Mistake(f"{section}.{problem}")
    return settings


@cache
def _validator() -> TypeAdapter[Settings]:
    from pydantic import TypeAdapter

    return TypeAdapter(Settings)


def _explained(error: ErrorDetails) -> str:
    """What is wrong with a value, and the remedy."""
    *sections, key = (str(part) for part in error["loc"][:2])
    section = ".".join(sections)
    settings = fields_of(section)
    if error["type"] == "unexpected_keyword_argument":
        place = f"of [{section}]" if section else "here"
        return f"{key!r} is not a setting {place}: use {', '.join(settings)}"
    if error["type"] == "missing":
        return 'the project has no name: add name = "…"'
    value = error["input"]
    value = value if error["loc"] == (*sections, key) else [value]
    said = str(value).lower() if isinstance(value, bool) else repr(value)
    return _(
        "%(name)s is %(value)s: %(remedy)s",
        name=".".join((*sections, key)),
        value=said,
        remedy=_remedy(settings[key]),
    )


def _remedy(setting: Field[Any]) -> str:
    kind = _kind(setting)
    if kind in NUMBERS:
        most = setting.metadata.get("le")
        if most is not None:
            number = _(NUMBERS[kind])
            return _("give %(number)s from 0 to %(most)s", number=number, most=most)
        return _("give %(number)s, 0 or more", number=_(NUMBERS[kind]))
    choices = setting.metadata.get("examples")
    if choices and kind is not bool:
        return _("use %(choices)s", choices=", ".join(choices))
    kinds = {
        bool: N_("true or false"),
        str: N_("a text"),
        tuple: N_("a list of texts"),
    }
    return _("it must be %(kind)s", kind=_(kinds.get(kind, N_("a section"))))


def fields_of(section: str) -> dict[str, Field[Any]]:
    """Name → field of the settings in a section; "": of the file as a whole."""
    blank = Settings("")
    part = getattr(blank, section) if section else blank
    return {setting.name: setting for setting in fields(part)}


def _kind(setting: Field[Any]) -> type:
    return str if setting.name == "name" else type(setting.default)


def store_problem(store: StoreSettings) -> str:
    """What is wrong with the place of a store, and the remedy; "": nothing.

    >>> store_problem(StoreSettings("mysql://host/db", "shelf"))
    "url is 'mysql://host/db': begin it with postgresql://"
    """
    if not store.url:
        return "schema is given without a url: remove it" if store.schema else ""
    if not store.url.startswith(("postgresql://", "postgres://")):
        return f"url is {store.url!r}: begin it with postgresql://"
    if urlsplit(store.url).password is not None or "password=" in store.url:
        return (
            "url holds a password: take it out, and give it by PGPASSWORD, ~/.pgpass "
            "or the whole url by CLASSMARK_STORE"
        )
    if not SCHEMA.fullmatch(store.schema):
        return (
            f"schema is {store.schema!r}: use up to 63 small letters, digits and _, "
            "a letter first"
        )
    return ""
