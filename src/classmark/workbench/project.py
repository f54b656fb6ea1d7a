"""Project: one directory with settings, a store, models and an index."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from classmark.formats.feature_lines import FIELD
from classmark.problems import refusal, worded
from classmark.storage import Generations, sync_folder
from classmark.taxonomy.category import taxonomy_of
from classmark.workbench.results import FACTS, Cell, Table
from classmark.workbench.settings import (
    FILE,
    MeaningSettings,
    Settings,
    read_settings,
)
from classmark.workbench.settings_file import settings_text, write_settings
from classmark.workbench.settings_form import with_form_values
from classmark.workbench.store.log import whoami
from classmark.workbench.store.state import State
from classmark.workbench.store.store import Store

if TYPE_CHECKING:
    from classmark.formats.records import Record
    from classmark.meaning.vector_file import VectorFile
    from classmark.rankers.text_ranker import TextRanker
    from classmark.taxonomy.category import Category
    from classmark.taxonomy.tree import Taxonomy

T = TypeVar("T")
STORE = "store.sqlite"
ARCHIVED = "archived"  # a file: since when and by whom the project is closed


class Project:
    """An open project directory; a context manager that closes its store.

    shared : several threads may use it, one at a time.
    """

    def __init__(self, folder: Path, *, shared: bool = False) -> None:
        self.folder = folder
        self.settings = read_settings(folder)
        self.models = Generations(folder / "models")
        self.lives = Generations(folder / "live")
        self.index = Generations(folder / "index")
        self.rankers = Generations(folder / "rankers")
        self._cache: dict[Any, tuple[object, tuple[Any, ...], Any]] = {}
        self._vectors: dict[MeaningSettings, VectorFile | None] = {}
        self._store = self._open_store(shared=shared)

    def _open_store(self, *, shared: bool) -> Store:
        store = Store(self.folder / STORE, shared=shared, server=self.settings.store)
        if self.is_archived:
            store.engine.close_to_writing()
        return store

    @property
    def is_archived(self) -> bool:
        """Whether it is closed to writing."""
        return (self.folder / ARCHIVED).exists()

    @property
    def store(self) -> Store:
        """The tables of the project."""
        return self._store

    @cached_property
    def _state(self) -> State:
        return State()

    @property
    def state(self) -> State:
        """The documents and their labels, as they are now."""
        return self._state.follow(self.store)

    @property
    def followed(self) -> State:
        """The same, as they were when they were last looked at."""
        return self._state

    @property
    def model_name(self) -> str:
        """The name of the trained model in service; "" where there is none."""
        return getattr(self.models.current(), "name", "")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.store.close()

    @property
    def categories(self) -> Mapping[str, Category]:
        """The categories of today, by id."""
        return self.once(_categories)

    @property
    def tree(self) -> Taxonomy:
        """The tree of today's categories."""
        return self.once(_tree)

    def model(self) -> TextRanker | None:
        """The ranker that has learned every decision, or the one trained last.

        Its categories have their ids of today; merged ones are one, and retired ones
        are not ranked. None where nothing was learned yet, or nothing is left to rank.
        """
        return self.once(_model)

    def require_model(self) -> TextRanker:
        """As ``model``; an error with its remedy where there is nothing to rank by."""
        from classmark.workbench.learning.models import has_learned

        model = self.model()
        if model is None and has_learned(self):
            raise refusal(
                "every category that the model knows is retired: undo that, or label "
                "documents with others and %(remedy)s",
                remedy=worded("run classmark train"),
            )
        if model is None:
            raise refusal(
                "%(folder)s has no model yet: decide on a document, or import "
                "labelled ones and %(remedy)s",
                folder=self.folder,
                remedy=worded("run classmark train"),
            )
        return model

    def text_of(self, record: Record) -> str:
        """The text that is learned from: the fields of the settings, or all."""
        names = self.settings.text.fields
        if not names:
            return record.document.text
        fields = record.document.fields
        return "\n".join(fields[name] for name in names if fields.get(name))

    @property
    def has_vectors_alone(self) -> bool:
        """Whether its documents are vectors of counts, without text."""
        return self.settings.text.fields == (FIELD,)

    def require_texts(self, what: str) -> None:
        """Refuse what vectors cannot do; what : the reason, as a clause."""
        if self.has_vectors_alone:
            raise refusal(
                "the documents of %(folder)s are vectors without text, and "
                "%(what)s: import texts into another project for that",
                folder=self.folder,
                what=what,
            )

    def meaning(self, settings: MeaningSettings | None = None) -> VectorFile | None:
        """Vectors of texts beside their words; None for words alone.

        settings : of a model that was trained with others than the project's of now.
        """
        from classmark.workbench.meaning import open_vectors

        settings = settings or self.settings.meaning
        vectors = self._vectors.get(settings)
        if vectors is None or not vectors.folder.is_dir():
            vectors = self._vectors[settings] = open_vectors(self.folder, settings)
        return vectors

    def meaning_in_service(self) -> VectorFile | None:
        """The vectors that the model in service was trained with, if any."""
        from classmark.workbench.learning.models import vectors_in_service

        return vectors_in_service(self)

    def sources_in_service(self) -> list[MeaningSettings]:
        """What made the vectors of the model in service and of the live ranker."""
        from classmark.workbench.learning.models import sources_in_service

        return self.once(sources_in_service)

    def change_settings(self, values: Mapping[str, str], who: str) -> list[str]:
        """Change the settings that differ, all or none; return their names.

        values : full name → what a form sent.
        """
        from classmark.text import Analyzer
        from classmark.workbench.learning.fit import require
        from classmark.workbench.meaning import require_source

        settings, changes = with_form_values(read_settings(self.folder), values)
        if changes:
            Analyzer.parse(settings.text.analyzer)
            require(settings.learning)
            require_source(self, settings.meaning)
            with self.store.transaction():
                self.store.note_event("settings", who, changed=changes)
                write_settings(self.folder, settings)
            self.settings = settings
        return list(changes)

    def once(self, read: Callable[[Self], T], of: object = None) -> T:
        """What ``read`` returns of the project, computed again when it has changed.

        of : what else it depends on; it is computed again when that is another.
        """
        before = self._version()
        cached = self._cache.get(read)
        if cached is not None and cached[:2] == (of, before):
            return cast("T", cached[2])
        result = read(self)
        after = self._version()
        if after[0] == before[0]:
            self._cache[read] = of, after, result
        return result

    def _version(self) -> tuple[Any, ...]:
        """What changes with every act, by anybody, and with the models."""
        others, own = self.store.state()
        return others, own, self.models.current(), self.lives.current()


def _categories(project: Project) -> dict[str, Category]:
    return {category.id: category for category in project.store.categories()}


def _tree(project: Project) -> Taxonomy:
    return taxonomy_of(project.categories.values())


def _model(project: Project) -> TextRanker | None:
    from classmark.workbench.learning.models import open_to_rank

    if (model := open_to_rank(project)) is not None:
        return model
    from classmark.workbench.learning.live import model_in_service

    return model_in_service(project)


def create(
    folder: Path,
    settings: Settings,
    fill: Callable[[Store, Path], None] | None = None,
    settings_file: str = "",
) -> None:
    """Make a new project directory; it appears whole or not at all.

    Nobody else may read it, unless it was there before and is open to them.
    fill : what puts something into the new store and folder; none, for an empty one;
    settings_file : the text of a settings file whose comments and order are kept.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise refusal(
            "%(folder)s is already there and not empty: choose another name",
            folder=folder,
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = folder.parent / f".{folder.name}.{os.getpid()}.new"
    beside.mkdir(mode=0o700)
    if folder.exists():
        beside.chmod(folder.stat().st_mode)
    try:
        (beside / "models").mkdir()
        (beside / "index").mkdir()
        text = settings_text(settings, settings_file)
        (beside / FILE).write_text(text, encoding="utf-8")
        with Store(beside / STORE, create=True, server=settings.store) as store:
            try:
                if fill is None:
                    store.note_event("created", whoami(), name=settings.name)
                else:
                    fill(store, beside)
            except BaseException:
                store.engine.discard()
                raise
        sync_folder(beside)
        beside.rename(folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    sync_folder(folder.parent)


def info(project: Project, *, check: bool = False, vocabulary: bool = False) -> Table:
    """Counts, settings and the model in service; ``check`` reads every byte first.

    vocabulary : count the terms, and fit and draw Heaps' and Zipf's laws.
    """
    settings = project.settings
    facts: dict[str, Cell] = {"name": settings.name, "directory": str(project.folder)}
    if settings.store.url:
        facts["store"] = project.store.engine.place
    facts |= project.store.counts()
    facts["analyzer"] = settings.text.analyzer
    for name in ("weighting", "learner", "strategy"):
        facts[name] = getattr(settings.learning, name)
    facts["meaning"] = settings.meaning.source
    facts |= _in_service(project)
    if vocabulary:
        facts |= _vocabulary(project)
    note = _checked(project) if check else ""
    rows: list[dict[str, Cell]] = [{"what": k, "value": v} for k, v in facts.items()]
    return Table("Project", rows, note, FACTS)


def _in_service(project: Project) -> dict[str, Cell]:
    """The model in service, and how it was trained."""
    from classmark.workbench.learning.fit import by_nodes
    from classmark.workbench.learning.trained import training_of
    from classmark.workbench.meaning import WORDS_ALONE, vectors_of_model

    current = project.models.current()
    if current is None:
        return {"model in service": None}
    facts: dict[str, Cell] = {"model in service": current.name}
    training = training_of(project, current.name)
    if how := training.how:
        facts |= {"its learner": how.learner, "its strategy": how.strategy}
        if (vectors := vectors_of_model(project)) != WORDS_ALONE:
            facts["its vectors"] = vectors
        if by_nodes(how):
            facts["its base"] = how.base
    if training.is_outdated(project.store):
        remedy = worded("run classmark train")
        facts["trained on acts undone since"] = f"to unlearn them exactly, {remedy}"
    return facts


def _vocabulary(project: Project) -> dict[str, Cell]:
    """The words of all documents, and the laws they follow."""
    from classmark.corpus.counting import count
    from classmark.corpus.power_laws import vocabulary_laws
    from classmark.evaluation.figures import vocabulary_figure
    from classmark.text import Analyzer

    analyzer = Analyzer.parse(project.settings.text.analyzer)
    texts = (project.text_of(record) for record in project.store.records())
    laws = vocabulary_laws(count(texts, analyzer).rows)
    facts: dict[str, Cell] = {
        "tokens": laws.tokens,
        "different terms": laws.terms,
        "terms that occur once": laws.once,
    }
    for name, law in (("Heaps", laws.heaps), ("Zipf", laws.zipf)):
        if law is not None:
            facts |= {
                f"{name}: {'r²' if part == 'fit' else part}": f"{value:.4g}"
                for part, value in law._asdict().items()
                if part != "ranks"
            }
    if laws.heaps is not None or laws.zipf is not None:
        path = project.folder / "reports" / "vocabulary.svg"
        vocabulary_figure(laws, path, f"{project.settings.name}: the vocabulary")
        facts["plot of the vocabulary"] = str(path)
    return facts


def _checked(project: Project) -> str:
    from classmark.index.index import Index
    from classmark.workbench.learning.models import check_live, check_model
    from classmark.workbench.meaning import stored_vectors
    from classmark.workbench.store.log import require_replayed

    project.store.check()
    require_replayed(project.store)
    for number in project.models.numbers():
        check_model(project, project.models.folder / f"{number:06d}")
    if (live := project.lives.current()) is not None:
        check_live(project, live)
    if project.index.current() is not None:
        Index.open(project.index.folder).check()
    if (vectors := stored_vectors(project)) is not None:
        vectors.check()
    return (
        "checked: the store, every model, the index and the vectors of meaning are "
        "whole, and the log says what holds"
    )
