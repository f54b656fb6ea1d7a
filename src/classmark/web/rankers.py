"""In which order searches answer: learned rankers, tuning, links between documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Form, Path, Query
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, Field

from classmark.problems import refusal
from classmark.web import fields
from classmark.web.guard.auth import Admin, Caller, Reader
from classmark.web.guard.errors import or_missing
from classmark.web.render import fragment, page, redirect
from classmark.web.settings import STARTED
from classmark.workbench.results import Table
from classmark.workbench.search import interleaving, links, rankers
from classmark.workbench.search.desk_search import search_state
from classmark.workbench.search.search import MODELS
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.jobs import Job

if TYPE_CHECKING:
    from classmark.workbench.search.tune import Judgments

pages = APIRouter(prefix="/settings/search")
api = fields.calls("search")

LEARNERS = "ranking-svm", "rsvm-ir", "pointwise", "listnet", "logistic", "lambdamart"
HERE = "/settings/search"
JOB_NAMES = {
    "train": "rank train",
    "evaluate": "rank evaluate",
    "tune": "tune",
}
Short = Annotated[str, Field(max_length=100, pattern=fields.NO_NUL)]
Words = Annotated[str, Field(min_length=1, max_length=2000, pattern=fields.NO_NUL)]
Grade = Annotated[float, Field(ge=-1000, le=1000)]
Strategy = Literal[
    "clicked-over-skipped", "skip-above", "last-click-over-skipped-above",
    "click-over-previous",
]  # fmt: skip
Queries = Annotated[
    Annotated[dict[fields.Id, Words], Field(max_length=10_000)] | fields.Text,
    Field(
        description="id → words; or a text with an id, a blank and the words a line",
        examples=[{"q1": "salt road"}],
    ),
]
Qrels = Annotated[
    Annotated[
        dict[fields.Id, Annotated[dict[fields.Id, Grade], Field(max_length=10_000)]],
        Field(max_length=10_000),
    ]
    | fields.Text,
    Field(
        description="query → document → grade, 0 not relevant; or a text as TREC has "
        "it: query, 0, document and grade a line",
        examples=[{"q1": {"a7": 2, "b3": 0}}],
    ),
]
RankerNumber = Annotated[int, Field(ge=1, le=fields.LARGEST)]


class TrainForm(BaseModel):
    """What a ranker learns from, as a form has it."""

    source: Literal["judgments", "clicks"]
    queries: fields.Text = ""
    qrels: fields.Text = ""
    learner: Short = LEARNERS[0]
    strategy: Strategy = "clicked-over-skipped"
    propensities: bool = False
    force: bool = False


class TuneForm(BaseModel):
    """What is to be tried, as a form has it: ``b=0:1:0.25 k1=0.9,1.2``."""

    queries: fields.Text
    qrels: fields.Text
    model: Short = "bm25"
    parameters: Annotated[str, Field(max_length=1000, pattern=fields.NO_NUL)] = ""
    measure: Short = "map"
    hybrid: bool = False
    use: bool = False


@pages.get("")
def order_page(me: Reader) -> HTMLResponse:
    """The learned rankers, and what may be learned or tried."""
    return page(
        me, "Settings", "settings_search.html", part="search", models=MODELS,
        rankers=rankers.stored_rankers(me.desk)[::-1], learners=LEARNERS,
        standing=search_state(me.desk), clicks=interleaving.click_report(me.desk.store),
        experiment=me.desk.settings.search.experiment,
        works=[_work(me.desk, name) for name in JOB_NAMES.values()],
    )  # fmt: skip


@pages.get("/jobs/{name}")
def job_part(me: Reader, name: Literal["train", "evaluate", "tune"]) -> HTMLResponse:
    """How far some long work is: a piece of the page."""
    return fragment("work.html", **_work(me.desk, JOB_NAMES[name]))


@pages.get("/rankers/{number}")
def ranker_page(me: Reader, number: int) -> HTMLResponse:
    """How one ranker compares, query by query."""
    ranker = _ranker_named(me.desk, number)
    return page(
        me, "Settings", "settings_ranker.html", part="search", ranker=ranker,
        learned=rankers.LEARNED, served=rankers.SERVED,
    )  # fmt: skip


@pages.get("/links")
def links_page(me: Reader) -> HTMLResponse:
    """The documents that others point to."""
    table = links.rank_documents(me.desk, links.LinkReader(), 50)
    return page(me, "Settings", "settings_links.html", part="search", table=table)


@pages.post("/rankers")
def train_form(me: Admin, form: Annotated[TrainForm, Form()]) -> Response:
    """Have a ranker learned, from judged queries or from what people opened."""
    judged = form.source == "judgments"
    wish = TrainRankerBody.model_construct(
        queries=form.queries if judged else None,
        qrels=form.qrels if judged else None,
        clicks=not judged,
        strategy=form.strategy,
        propensities=form.propensities,
        learner=form.learner,
        force=form.force,
    )
    _start_training(me, wish)
    return redirect(HERE)


class CompareForm(BaseModel):
    """Rankers to measure side by side, and the judged queries, as a form has them."""

    rankers: list[RankerNumber] = Field(default_factory=list, max_length=20)
    queries: fields.Text
    qrels: fields.Text


@pages.post("/compare")
def compare_form(me: Admin, form: Annotated[CompareForm, Form()]) -> Response:
    """Have rankers measured on judged queries."""
    if not form.rankers:
        raise refusal("no ranker is chosen: select those to compare")
    _start_comparing(me, form.queries, form.qrels, form.rankers)
    return redirect(HERE)


@pages.post("/service")
def service_form(
    me: Admin, number: Annotated[str, Form(pattern=r"^\d{0,9}$")] = ""
) -> Response:
    """Put a ranker into service, or none."""
    message = _put_in_service(me, int(number) if number else None)
    return redirect(HERE, saved=message)


@pages.post("/experiment")
def experiment_form(me: Admin, experiment: Annotated[Short, Form()]) -> Response:
    """Try another order on those who search, or interchange neighbours; or end it."""
    message = interleaving.begin_experiment(me.desk, experiment.strip(), me.name)
    return redirect(HERE, saved=message)


@pages.post("/tune")
def tune_form(me: Admin, form: Annotated[TuneForm, Form()]) -> Response:
    """Have values of a model's parameters tried."""
    wish = TuneBody.model_construct(**form.model_dump(exclude={"parameters"}))
    _start_tuning(me, wish, form.parameters.split())
    return redirect(HERE)


def _work(desk: Desk, name: str) -> dict[str, Any]:
    poll = f"{HERE}/jobs/{name.rpartition(' ')[2]}"
    return {"job": desk.jobs.last(name), "poll": poll, "back": HERE}


class JudgedBody(fields.Body):
    """Queries, and which documents are relevant to them."""

    queries: Queries
    qrels: Qrels


class CompareBody(JudgedBody):
    """Rankers to measure on judged queries that none of them learned from."""

    rankers: list[RankerNumber] = Field(min_length=1, max_length=20)


class TrainRankerBody(fields.Body):
    """What a ranker learns from, judged queries or what people opened; and how.

    strategy : what a click prefers;  propensities : a click counts the more, the less
    its position is looked at;  force : into service even if not surely better.
    """

    queries: Queries | None = None
    qrels: Qrels | None = None
    clicks: bool = False
    strategy: Strategy = "clicked-over-skipped"
    propensities: bool = False

    learner: Short = Field("ranking-svm", description=", ".join(LEARNERS))
    measure: Short = Field("ndcg@10", description="what decides")
    C: list[Annotated[float, Field(gt=0, le=1e6)]] = Field(
        [], max_length=20, description="choose among these; none: the learner's own"
    )
    share: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.5, description="of the queries, to learn from"
    )
    random_state: Annotated[int, Field(ge=0, lt=2**32)] = 0
    force: bool = False


class ServiceBody(fields.Body):
    """Which ranker orders the answers; null: none, the model alone does."""

    number: RankerNumber | None


class ServiceAnswer(fields.CallAnswer):
    """Which ranker orders the answers now, in words."""

    number: int | None
    said: str = Field(examples=["ranker 1 is in service: searches are ordered by it"])


class TuneBody(JudgedBody):
    """Values of a model's parameters to try; fixed : parameters that stay.

    hybrid : try what meaning counts beside words, the parameter weight;  use : the best
    becomes the setting search.meaning_weight.
    """

    model: Short = "bm25"
    parameters: dict[
        Short,
        Short
        | Annotated[
            list[Annotated[float, Field(allow_inf_nan=False)]],
            Field(min_length=1, max_length=1000),
        ],
    ] = Field(
        {}, max_length=5, description="name → first:last:step, or values; none for the "
        "usual weights of meaning",
        examples=[{"b": "0:1:0.05", "k1": [0.9, 1.2]}],
    )  # fmt: skip
    measure: Short = "map"
    fixed: dict[Short, float | Short] = Field({}, max_length=20)
    feedback: Short | None = Field(None, examples=["rm3"])
    hybrid: bool = False
    use: bool = False


class ReaderFields(fields.Body):
    """Who follows links: how steadily, from where (ids; none: anywhere), and how."""

    damping: Annotated[float, Field(ge=0, le=0.99)] = 0.85
    personalise: fields.Ids = ()
    method: Literal["power", "gauss-seidel", "eigen"] = "power"
    top: Annotated[int, Field(ge=1, le=fields.MANY)] = 20

    @property
    def reader(self) -> links.LinkReader:
        """The same, as the workbench takes it."""
        return links.LinkReader(self.damping, self.personalise, self.method)


class LinksBody(ReaderFields):
    """Links of your own, a source and a target each, to rank their pages by."""

    links: list[tuple[fields.Id, fields.Id]] = Field(
        min_length=1, max_length=100_000, examples=[[["a", "b"], ["b", "a"]]]
    )


fields.answer(
    rankers.StoredRanker,
    "queries",
    "importance",
    "chances",
    model_name="RankerAnswer",
    means=dict[str, dict[str, fields.Value]],
)

Rankers = fields.listing(
    "Rankers", "All learned rankers, the oldest first.", rankers=rankers.StoredRanker
)
RankerReport = fields.answer(
    rankers.StoredRanker,
    model_name="RankerReport",
    means=dict[str, dict[str, fields.Value]],
    chances=dict[str, dict[str, fields.Value]],
    queries=list[dict[str, str | fields.Value]],
    importance=list[fields.Weighed],
)
fields.answer(Table, "columns", "plural", model_name="TableAnswer")


@api.get("/rankers", response_model=Rankers)
def list_rankers(me: Reader) -> Any:
    """The learned rankers, and which of them is in service."""
    return {"rankers": rankers.stored_rankers(me.desk)}


@api.post("/rankers", **STARTED)
def train_ranker(me: Admin, body: TrainRankerBody) -> Job:
    """Learn to rank; a ranker surely better on held-out queries goes into service."""
    return _start_training(me, body)


@api.put("/rankers/service", responses=fields.MISSING)
def put_in_service(me: Admin, body: ServiceBody) -> ServiceAnswer:
    """Put a ranker into service, or none: the model alone orders then."""
    return ServiceAnswer(number=body.number, said=_put_in_service(me, body.number))


@api.post("/rankers/evaluate", responses=fields.MISSING, **STARTED)
def compare_rankers(me: Admin, body: CompareBody) -> Job:
    """Measure rankers on judged queries that none of them learned from."""
    return _start_comparing(me, body.queries, body.qrels, body.rankers)


@api.get("/rankers/{number}", responses=fields.MISSING, response_model=RankerReport)
def read_ranker(
    me: Reader, number: Annotated[int, Path(ge=1, le=fields.LARGEST)]
) -> Any:
    """A ranker: how it compares, query by query, and what counts for it."""
    return _ranker_named(me.desk, number)


@api.post("/tune", **STARTED)
def tune(me: Admin, body: TuneBody) -> Job:
    """Try values of a model's parameters on judged queries, and say which is best."""
    parameters = {
        name: values if isinstance(values, str) else ",".join(map(repr, values))
        for name, values in body.parameters.items()
    }
    return _start_tuning(me, body, fields.typed(parameters))


fields.answer(interleaving.OrderComparison)
ClickAnswer = fields.answer(interleaving.ClickReport)


@api.get("/clicks", response_model=ClickAnswer)
def clicks(me: Reader) -> Any:
    """Which of two orders people prefer, and how likely each position is looked at.

    looks : of positions 1, 2, … beside the first; where it is empty, ``unknown`` says
    why.
    """
    return interleaving.click_report(me.desk.store)


@api.get("/pagerank")
def pagerank(me: Reader, query: Annotated[ReaderFields, Query()]) -> Table:
    """Rank the documents by the links that lead to them."""
    return links.rank_documents(me.desk, query.reader, query.top)


@api.post("/pagerank")
def pagerank_of(_: Reader, body: LinksBody) -> Table:
    """Rank the pages of links of your own; nothing is written."""
    return links.rank_links(body.links, body.reader, body.top)


def _judgments(queries: Any, qrels: Any) -> Judgments:
    from classmark.workbench.search.tune import judgments_of

    return judgments_of(queries, qrels)


def _start_comparing(
    me: Caller, queries: Any, qrels: Any, numbers: Sequence[int]
) -> Job:
    from classmark.workbench.search.train_ranker import start_comparing

    judgments = _judgments(queries, qrels)
    for number in numbers:
        _ranker_named(me.desk, number)
    return start_comparing(me.desk, judgments, list(numbers), me.name)


def _start_training(me: Caller, wish: TrainRankerBody) -> Job:
    from classmark.workbench.search.train_ranker import RankerTraining, start_training
    from classmark.workbench.search.tune import Judgments

    judged = wish.queries is not None and wish.qrels is not None
    if judged == wish.clicks:
        raise refusal(
            "a ranker learns from queries and qrels, or from clicks: give one of them"
        )
    if wish.propensities and not wish.clicks:
        raise refusal("propensities weigh clicks: learn from clicks, or leave them out")
    judgments = _judgments(wish.queries, wish.qrels) if judged else Judgments()
    options = RankerTraining(
        wish.learner, wish.measure, wish.share, wish.random_state, tuple(wish.C),
        wish.strategy if wish.clicks else None, wish.propensities, wish.force,
    )  # fmt: skip
    return start_training(me.desk, judgments, options, me.name)


def _start_tuning(me: Caller, wish: TuneBody, parameters: Sequence[str]) -> Job:
    from classmark.workbench.search.tune import Sweep, start_tuning

    plan = Sweep(
        wish.model, parameters, wish.measure, fields.typed(wish.fixed), wish.feedback,
        wish.hybrid, wish.use,
    )  # fmt: skip
    judgments = _judgments(wish.queries, wish.qrels)
    return start_tuning(me.desk, judgments, plan, me.name)


def _put_in_service(me: Caller, number: int | None) -> str:
    if number is not None:
        _ranker_named(me.desk, number)
    name = rankers.NONE if number is None else str(number)
    return me.desk.write(lambda project: rankers.use_ranker(project, name, me.name))


def _ranker_named(desk: Desk, number: int) -> rankers.StoredRanker:
    with or_missing():
        return rankers.stored_ranker(desk, number)
