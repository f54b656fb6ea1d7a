"""Vectors of meaning of a project: what makes them, where they lie, which are missing.

They lie below ``meaning/``, in a folder for each source, so that a model goes on with
those it was trained with while the settings name others already. Each text's vector is
computed once; they are a cache, but for users' own, which are imported.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from classmark.language import N_, _, ngettext, whole
from classmark.problems import Mistake, refusal, worded
from classmark.storage import locked_file, write_whole
from classmark.workbench.results import FACTS, Cell, Table, WorkResult
from classmark.workbench.settings import MeaningSettings
from classmark.workbench.settings_form import as_text, with_form_values
from classmark.workbench.store.log import whoami

if TYPE_CHECKING:
    from classmark.meaning.sources import MeaningSource
    from classmark.meaning.vector_file import ComputedVectors, VectorFile
    from classmark.taxonomy.category import Category
    from classmark.workbench.project import Project
    from classmark.workbench.team.desk import Desk
    from classmark.workbench.team.jobs import Job

FOLDER, KEY, OWN = "meaning", "CLASSMARK_VECTORS_KEY", "own"
JOB, COMPUTED = "vectors", "vectors computed"  # the job, and the event
WORDS_ALONE = N_("words alone")
BY_SETTINGS = N_(
    "Texts leave this machine: documents, pasted texts and search queries are sent to "
    "%(host)s. To end this, choose another source of vectors; then %(remedy)s."
)
BY_MODEL = N_(
    "Texts leave this machine: the model in use needs vectors from %(host)s, so the "
    "texts that it classifies are sent there. To end this, %(remedy)s."
)
BLOCK = 1000  # documents looked at together
OF_VECTORS = "digest", "numbers", "weight", "bytes"  # unknown until there are some
COUNTED = "counted.json"  # beside the vectors: how many documents have one, and when
TEXTS = """
SELECT count(*), coalesce(max(number), 0),
  (SELECT coalesce(max(seq), 0) FROM events WHERE what = 'imported'),
  (SELECT coalesce(max(seq), 0) FROM judgments WHERE act = 'replace'
    OR undoes IN (SELECT seq FROM judgments WHERE act = 'replace'))
FROM documents
"""  # what changes whenever a text does


def vectors_folder(folder: Path, settings: MeaningSettings) -> Path:
    """Where the vectors of a source lie in a project's folder."""
    how = asdict(settings)
    for name in ("weight", "allow_remote"):  # which change no vector
        del how[name]
    digest = blake2b(repr(sorted(how.items())).encode(), digest_size=6)
    return folder / FOLDER / digest.hexdigest()


def source_from(settings: MeaningSettings) -> MeaningSource:
    """Open what makes the vectors, as the settings describe it."""
    try:
        return _opened(settings)
    except (OSError, UnicodeError) as error:
        raise refusal(
            "meaning.model is %(model)r: %(error)s: give the model's folder",
            model=settings.model,
            error=error,
        ) from error


def _opened(settings: MeaningSettings) -> MeaningSource:
    from classmark.meaning.models import SentenceModel, StaticVectors
    from classmark.meaning.server import VectorServer

    if settings.source == "static":
        return (
            StaticVectors(settings.model)
            if settings.model
            else StaticVectors.packaged()
        )
    if settings.source == "sentences":
        return SentenceModel(
            settings.model,
            pooling=settings.pooling or None,
            prefix=settings.prefix or None,
        )
    if settings.source == "server":
        return VectorServer(
            settings.url,
            settings.model,
            allow_remote=settings.allow_remote,
            key=os.environ.get(KEY),
        )
    raise refusal(
        "no source of vectors is set: choose one %(remedy)s",
        remedy=worded("(classmark meaning set SOURCE)"),
    )


def open_vectors(folder: Path, settings: MeaningSettings) -> VectorFile | None:
    """The stored vectors, which ask their source for those that are missing.

    None where the settings name no source.
    """
    from classmark.meaning.vector_file import VectorFile

    if not settings.remembered:
        return None
    place = vectors_folder(folder, settings)
    if settings.source == OWN:
        if not place.is_dir():
            raise refusal(
                "%(folder)s has no vectors of its own yet: %(remedy)s",
                folder=folder,
                remedy=worded("import some (classmark meaning import FILE)"),
            )
        return VectorFile(place)
    return VectorFile(place, partial(source_from, settings))


def require_source(project: Project, settings: MeaningSettings) -> None:
    """Open what makes the vectors, to be sure; one's own may still be to come."""
    if settings.remembered:
        project.require_texts("meaning is computed from text")
    if settings.source != OWN:
        project.meaning(settings)


def stored_vectors(project: Project) -> VectorFile | None:
    """The vectors of the settings' source; None: words alone, or own, none here yet."""
    settings = project.settings.meaning
    waiting = settings.source == OWN and not has_own(project, settings)
    return None if waiting else project.meaning(settings)


def has_own(project: Project, settings: MeaningSettings) -> bool:
    """Whether vectors are the users' own, and some are here."""
    return settings.source == OWN and vectors_folder(project.folder, settings).is_dir()


def parts_of_backup(project: Project) -> list[Path]:
    """What says which vectors there are; the whole of what nothing computes again."""
    from classmark.meaning.vector_file import described

    places = sorted((project.folder / FOLDER).glob("*/source"))
    return [p.parent if described(p.parent).get("imported") else p for p in places]


def set_meaning(project: Project, settings: MeaningSettings, who: str = "") -> Table:
    """Use this source from the next training on; it is opened first, to be sure."""
    values = {f"meaning.{k}": as_text(v) for k, v in asdict(settings).items()}
    change_source(project, values, who or whoami())
    return status(project)


def change_source(project: Project, values: Mapping[str, str], who: str) -> list[str]:
    """Change settings by their full names; return those that differ.

    The source is opened before, while others may still write.
    """
    require_source(project, with_form_values(project.settings, values)[0].meaning)
    return project.change_settings(values, who)


def description_of(category: Category) -> str:
    r"""Name, scope note and other names of a category, one below the other.

    >>> from classmark.taxonomy.category import Category
    >>> description_of(Category("q.bee", "Bees", synonyms=("apiculture",)))
    'Bees\napiculture'
    """
    parts = (category.label, category.note, *category.synonyms)
    return "\n".join(part for part in parts if part)


def document_texts(project: Project) -> Iterator[list[tuple[str, str]]]:
    """Ids and texts of all documents, as they are learned from, some at a time."""
    from classmark.formats.records import Record

    documents = project.store.documents()
    while block := list(islice(documents, BLOCK)):
        yield [(each.id, project.text_of(Record(each))) for each in block]


def require_computable(project: Project) -> VectorFile:
    """The vectors, or a refusal where nothing computes any."""
    vectors = project.meaning()
    if vectors is None:
        raise refusal(
            "%(folder)s has no source of vectors: choose one %(remedy)s",
            folder=project.folder,
            remedy=worded("(classmark meaning set SOURCE)"),
        )
    if vectors.imported:
        raise refusal(
            "your own vectors are not computed: %(remedy)s",
            remedy=worded("import some (classmark meaning import FILE)"),
        )
    return vectors


def compute(project: Project, who: str = "") -> ComputedVectors:
    """Compute what is missing of the project's documents, also those that come.

    And of what is said of its categories, which rankers along a tree read.
    """
    from classmark.meaning.vector_file import ComputedVectors

    vectors = require_computable(project)
    new, known, seconds, version = 0, -1, 0.0, None
    while version != (version := project.store.state()):
        missing: list[str] = []
        n_documents = n_stored = 0
        texts_then = _texts_state(project)
        for block in document_texts(project):
            texts = [text for _, text in block]
            n_documents += len(texts)
            has = vectors.has(texts).tolist()
            missing += [t for t, stored in zip(texts, has, strict=True) if not stored]
            n_stored += sum(has)
        known = n_stored if known < 0 else known
        of_categories = map(description_of, project.store.categories())
        missing += [t for t in of_categories if t.strip() and t not in vectors]
        if missing:
            done = vectors.compute(missing, wait=True)
            new, seconds = new + done.new, seconds + done.seconds
    _note_count(vectors, texts_then, n_documents, n_documents)
    if new:
        facts = {"source": vectors.name, "new": new, "seconds": seconds}
        project.store.note_event(COMPUTED, who or whoami(), **facts)
    return ComputedVectors(new, known, seconds)


def compute_all(project: Project) -> Table:
    """Compute what is missing of the project's documents; say how it went."""
    done = compute(project)
    row: dict[str, Cell] = {
        "new": done.new,
        "known before": done.known,
        "seconds": done.seconds,
        "texts a second": done.rate,
    }
    return Table("Vectors", [row])


def computed_after_import(project: Project) -> str:
    """Compute the vectors of documents that have just come; say so, "" if none."""
    if project.settings.meaning.source in ("none", OWN):
        return ""
    try:
        done = compute(project)
    except Mistake as problem:
        raise refusal(
            "the documents are imported, but their vectors are not computed: "
            "%(problem)s",
            problem=problem,
        ) from problem
    return f"vectors computed: {done.new:,}, {done.rate:,.0f} a second"


def start_computing(desk: Desk, who: str) -> Job | None:
    """Let a job compute the vectors of documents that have come; None: no need.

    One that runs sees them, too.
    """
    if desk.settings.meaning.source in ("none", OWN) or desk.jobs.running(JOB):
        return None
    return start_vectors(desk, who)


def compute_soon(desk: Desk, document: str) -> None:
    """Have the vector of one document computed that has come or was changed.

    A job that computes meanwhile sees it, too.
    """
    if desk.settings.meaning.source not in ("none", OWN):
        text = desk.text_of(desk.store.record(document))
        if not desk.jobs.running(JOB):
            desk.ahead(lambda: require_computable(desk).compute([text], wait=True))


def start_vectors(desk: Desk, who: str) -> Job:
    """Let a job compute what is missing."""
    require_computable(desk)
    return desk.jobs.start(JOB, partial(_in_words, who), who)


def _in_words(who: str, project: Project) -> WorkResult:
    done = compute(project, who)
    said = ngettext(
        "%(n)s vector computed, %(rate)s per second",
        "%(n)s vectors computed, %(rate)s per second",
        done.new,
        rate=whole(done.rate),
    )
    return WorkResult(said, done._asdict())


def require_vectors(
    project: Project,
    settings: MeaningSettings,
    ids: Sequence[str],
    texts: Sequence[str],
) -> None:
    """Compute the vectors of some documents; say which has none, if they are own."""
    vectors = project.meaning(settings)
    if vectors is None:
        return
    if not vectors.imported:
        vectors.compute(texts, wait=True)
        return
    missing = [id_ for id_, has in zip(ids, vectors.has(texts), strict=True) if not has]
    if missing:
        raise refusal(
            "document %(missing)r has no vector (%(n)s of %(n2)s documents): "
            "%(remedy)s",
            missing=missing[0],
            n=whole(len(missing)),
            n2=whole(len(ids)),
            remedy=worded("import one (classmark meaning import FILE)"),
        )


def drop(project: Project, who: str = "") -> Table:
    """Use words alone from the next training on, and remove all stored vectors."""
    if project.meaning_in_service() is not None:
        raise refusal(
            "the model in service was trained with vectors of meaning: "
            "%(remedy)s first",
            remedy=worded(
                "set none (classmark meaning set none) and run classmark train"
            ),
        )
    with ExitStack() as locks:
        for folder in (project.folder / FOLDER).glob("*"):
            if (lock := locked_file(folder / "lock")) is None:
                raise refusal(
                    "%(folder)s: these vectors are being computed: wait until this "
                    "is done",
                    folder=folder,
                )
            locks.enter_context(lock)
        set_meaning(project, MeaningSettings(), who)
        shutil.rmtree(project.folder / FOLDER, ignore_errors=True)
    return status(project)


@dataclass(frozen=True, slots=True)
class MeaningStatus:
    """What makes vectors, how many there are, and what uses them.

    name, digest, numbers : of the source, and how many numbers a vector has;  weight :
    the length of that part beside words of length 1;  documents, with_vector : how many
    there are;  bytes : on disk;  rate : vectors a second, when some were computed last;
    sent_to : the other machines that texts are sent to, "" if none;  notice : which
    texts, why, and how to end it;  problem : why the source cannot be opened;
    model_in_service : the vectors that it was trained with.
    """

    source: str
    name: str = ""
    digest: str = ""
    numbers: int = 0
    weight: float = 0.0
    documents: int = 0
    with_vector: int = 0
    bytes: int = 0
    rate: float | None = None
    sent_to: str = ""
    notice: str = ""
    problem: str = ""
    model_in_service: str = WORDS_ALONE


def vectors_of_model(project: Project) -> str:
    """Which vectors the model in service was trained with, in words."""
    try:
        in_use = project.meaning_in_service()
    except Mistake as problem:
        return _("vectors that cannot be opened: %(problem)s", problem=problem)
    return WORDS_ALONE if in_use is None else str(in_use.facts)


def standing(project: Project) -> MeaningStatus:
    """What makes vectors, how many there are, and what uses them."""
    settings, used = project.settings.meaning, vectors_of_model(project)
    sent_to, notice = ", ".join(receivers(project)), texts_leave(project)
    vectors, problem = None, ""
    try:
        vectors = stored_vectors(project)
    except Mistake as mistake:
        problem = str(mistake)
    if vectors is None:
        return MeaningStatus(
            settings.source,
            documents=project.store.counts("documents")["documents"],
            sent_to=sent_to,
            notice=notice,
            problem=problem,
            model_in_service=used,
        )
    n_documents, n_stored = _counted(project, vectors)
    last = project.store.last_event(COMPUTED, source=vectors.name)
    return MeaningStatus(
        settings.source,
        vectors.name,
        vectors.digest[:12],
        vectors.dimension,
        settings.weight or vectors.weight,
        n_documents,
        n_stored,
        vectors.size,
        last["new"] / last["seconds"] if last else None,
        sent_to,
        notice,
        model_in_service=used,
    )


def _counted(project: Project, vectors: VectorFile) -> tuple[int, int]:
    """How many documents there are, and how many have a vector.

    Texts are read where some have changed, or vectors have come, since the last count.
    """
    path, state = vectors.folder / COUNTED, _texts_state(project)
    if path.exists():
        last = json.loads(path.read_text())
        if last["texts"] == state and last["bytes"] == vectors.size:
            return last["documents"], last["with_vector"]
    n_documents = n_stored = 0
    for block in document_texts(project):
        n_documents += len(block)
        n_stored += int(vectors.has([text for _, text in block]).sum())
    _note_count(vectors, state, n_documents, n_stored)
    return n_documents, n_stored


def _texts_state(project: Project) -> list[Any]:
    """What the texts of all documents depend on."""
    now = project.store.run(TEXTS).fetchone()
    return [*now, list(project.settings.text.fields)]


def _note_count(
    vectors: VectorFile, state: list[Any], n_documents: int, n_stored: int
) -> None:
    """Write down how many documents have a vector, so that texts need not be read."""
    count = {"documents": n_documents, "with_vector": n_stored}
    facts = {"texts": state, "bytes": vectors.size} | count
    write_whole(vectors.folder / COUNTED, json.dumps(facts))


def remote_host(settings: MeaningSettings) -> str:
    """The other machine that a source sends texts to; "": they stay on this one."""
    from classmark.meaning.server import is_loopback

    host = urlsplit(settings.url).hostname if settings.source == "server" else ""
    return "" if not host or is_loopback(host) else host


def receivers(project: Project) -> dict[str, str]:
    """Each other machine that texts are sent to, and the notice to show of it.

    The source of the settings has documents, pasted texts and queries; that of a model
    trained before they were changed has the texts that it ranks, until the next one.
    """
    by_model = map(remote_host, project.sources_in_service())
    notices = {host: BY_MODEL for host in by_model if host}
    if host := remote_host(project.settings.meaning):
        notices[host] = BY_SETTINGS
    return notices


def texts_leave(project: Project) -> str:
    """That texts leave this machine, which, and how to end it; "": they stay."""
    notices = receivers(project).items()
    remedy = worded("run classmark train")
    return " ".join(_(text, host=host, remedy=remedy) for host, text in notices)


def status(project: Project) -> Table:
    """Say what makes the vectors, how many there are, and what uses them."""
    facts: dict[str, Cell] = asdict(standing(project))
    shown = [*facts]
    if facts["source"] == "none":
        shown = ["source", "sent_to", "notice", "model_in_service"]
    elif not facts["name"]:
        shown = [name for name in facts if name not in OF_VECTORS]
        if not facts["problem"]:
            remedy = worded("import some (classmark meaning import FILE)")
            facts["problem"] = _(
                "there are no vectors of your own yet: %(remedy)s", remedy=remedy
            )
    rows: list[dict[str, Cell]] = [
        {"what": name.replace("_", " "), "value": facts[name]}
        for name in shown
        if facts[name] not in ("", None)
    ]
    return Table("Meaning", rows, "", FACTS)
