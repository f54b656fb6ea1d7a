"""What to do, as pages and calls say it: the command line's words → theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from classmark.language import N_, codes, in_language, ngettext, preferred
from classmark.problems import in_words_of
from classmark.web.guard.errors import for_programs
from classmark.workbench.deciding.together import GroupLabelled

SAY = "say --assign, --primary, --reject, --unsure, --remove, --over or --aside"
WORDS: Mapping[str, tuple[str, str]] = {
    "run classmark train": (
        N_("train again (Settings, Model and jobs)"),
        "call POST /train",
    ),
    "classmark train --base svm": (
        N_("train again with the base svm (Settings)"),
        "POST /train with the setting learning.base svm",
    ),
    "run classmark train --memory with more first": (
        N_("allow more memory in the settings, then train again"),
        "allow more with the setting learning.memory, then call POST /train",
    ),
    "run classmark train --loss dom first": (
        N_("choose the loss dom in the settings, then train again"),
        "choose dom for the setting learning.loss, then call POST /train",
    ),
    "run classmark train --learner plm first": (
        N_("choose the learner plm in the settings, then train again"),
        "choose plm for the setting learning.learner, then call POST /train",
    ),
    "run classmark train --no-vote first": (
        N_("turn off the setting vote, then train again"),
        "choose no for the setting learning.vote, then call POST /train",
    ),
    "run classmark rebuild": (
        N_("train again (Settings, Model and jobs)"),
        "call POST /rebuild",
    ),
    "(classmark meaning set SOURCE)": (N_("(Settings, Meaning)"), "(PUT /meaning)"),
    "(classmark meaning set own)": (N_("(Settings, Meaning)"), "(PUT /meaning)"),
    "(classmark meaning set own NAME)": (N_("(Settings, Meaning)"), "(PUT /meaning)"),
    "import one (classmark meaning import FILE)": (
        N_("import the document with one (JSON Lines, field vector)"),
        "import the document with one (POST /import, vector)",
    ),
    "import some (classmark meaning import FILE)": (
        N_("import documents with them (JSON Lines, field vector)"),
        "import documents with them (POST /import, vector)",
    ),
    "give --allow-remote (allow_remote=)": (
        N_("choose yes for allow remote (Settings, Meaning)"),
        "give allow_remote (PUT /meaning)",
    ),
    "set none (classmark meaning set none) and run classmark train": (
        N_("choose none (Settings, Meaning) and train again"),
        "choose none (PUT /meaning) and call POST /train",
    ),
    "with classmark train": (N_("in a training"), "with POST /train"),
    "until the next classmark train": (
        N_("until the next training"),
        "until the next POST /train",
    ),
    "--strategy": (N_("the strategy"), "the setting learning.strategy"),
    "--base": (N_("the base"), "the setting learning.base"),
    "--memory": (N_("the setting memory"), "the setting learning.memory"),
    "--device": (N_("the setting device"), "the setting learning.device"),
    "--thresholds": (N_("the setting thresholds"), "the setting learning.thresholds"),
    "--learner": (N_("the learner"), "the setting learning.learner"),
    "--select-features": (
        N_("select features"),
        "the setting learning.select_features",
    ),
    "say --replace": (
        N_("choose “Import and replace”"),
        "give replace=true",
    ),
    "--skip leaves them out": (
        N_("they can be left out when the file is imported"),
        "skip=true leaves them out",
    ),
    "leave --learner out": (
        N_("choose the learner plm"),
        "choose plm for the setting learning.learner",
    ),
    "use --no-rare": (
        N_("turn off the second look at rare categories"),
        "choose no for the setting learning.rare",
    ),
    "(classmark import FILE)": (N_("(Import and export)"), "(POST /import)"),
    "(classmark decide)": (N_("(Decide)"), "(POST /decide)"),
    "let classmark taxonomy import --break-cycles cut it": (
        N_("ask the person who runs the server: the command line can cut it"),
        "bring the file in from the command line, which can cut it",
    ),
    "make one with classmark taxonomy train-meta FILE": (
        N_("choose another policy in the settings"),
        "choose another with the setting learning.policy",
    ),
    "with classmark taxonomy import FILE": (
        N_("on the page Import and export"),
        "with POST /import and kind=taxonomy",
    ),
    "run classmark taxonomy add {category}": (
        N_("add it on the page Taxonomy"),
        "add it with POST /categories",
    ),
    "run classmark taxonomy propose {node}": (
        N_("propose subcategories on the category's page"),
        "call POST /categories/propose",
    ),
    SAY: (
        N_("choose a category, or postpone the document"),
        "give assign, primary, reject, unsure, remove, over or aside",
    ),
    "give the number of another's act (classmark history lists them)": (
        N_("the actions of others are in History"),
        "give the number of another's act (GET /history lists them)",
    ),
    "see the numbers with classmark history": (
        N_("see the numbers in History"),
        "see the numbers with GET /history",
    ),
    "run classmark undo {number}": (
        N_("undo no. {number} in History"),
        "call POST /undo with the number {number}",
    ),
    "give a new password with classmark users password": (
        N_("set a new password in the list of people"),
        "give this one a new password with PATCH /users/NAME",
    ),
    "see classmark users list": (N_("see the list of people"), "see GET /users"),
    "see classmark projects list": (
        N_("see the list of projects"),
        "see GET /projects",
    ),
    "bring it back with classmark projects unarchive": (
        N_("bring it back on the page of the projects"),
        "bring it back with PATCH /projects and archived false",
    ),
    "see classmark tokens list": (N_("see the list of tokens"), "see GET /tokens"),
    "with classmark index --project {folder}": (
        N_("on the page Search"),
        "with POST /index",
    ),
    "classmark index brings the index up to date": (
        N_("the page Search brings the index up to date"),
        "POST /index brings the index up to date",
    ),
    "(classmark index --positions)": (
        N_("(ask the person who runs the server)"),
        "(on the machine itself, from the command line)",
    ),
    "--set": (N_("the model's parameters:"), "parameters:"),
    "--weight": (N_("field weights:"), "weights:"),
    "--feedback": (N_("query expansion"), "feedback"),
    "--prior": (N_("link popularity:"), "prior:"),
    "--model": (N_("a model"), "model"),
    "--hybrid": (N_("the choice of words and meaning"), "hybrid"),
    "classmark meaning compute computes what is missing": (
        N_("compute the missing vectors (Settings, Meaning)"),
        "POST /meaning/compute computes what is missing",
    ),
    "give --parameter weight=0:4:0.5, or none": (
        N_("enter weight=0:4:0.5, or none"),
        'give parameters {{"weight": "0:4:0.5"}}, or none',
    ),
    "--ranker": (N_("a ranker"), "ranker"),
    "--explain": (N_("what a score is made of"), "what a score is made of"),
    "take it out with classmark rank use none": (
        N_("stop using it (Settings, Search ranking)"),
        "take it out with PUT /rankers/service",
    ),
    "train one again with classmark rank train": (
        N_("train another one (Settings, Search ranking)"),
        "train one again with POST /rankers",
    ),
    "classmark rank use {number} puts it in service": (
        N_("“Use” puts it in service"),
        "PUT /rankers/service with the number {number} puts it in service",
    ),
    "log searches with classmark search --log, and what is opened with classmark "
    "click": (
        N_("log searches and opened results (Settings, Log of searches)"),
        "let the setting search.log keep what POST /search and POST /click say",
    ),
    "log more searches (classmark search --log) and what is opened (classmark click)": (
        N_("log more searches and opened results"),
        "let more of POST /search and POST /click be kept",
    ),
    "give --queries FILE and --qrels FILE, or --dataset NAME for those of a known "
    "collection": (
        N_("enter queries and judgments"),
        "give queries and qrels",
    ),
    "give --parameter b=0:1:0.05": (
        N_("enter one, for example b=0:1:0.05"),
        'give parameters, as in {{"b": "0:1:0.05"}}',
    ),
    "search with --ranker none": (
        N_("rank by the model alone"),
        "search with the ranker none",
    ),
    "classmark search --log makes one": (
        N_("searches make one, if the log of searches is on in the settings"),
        "POST /search makes one, where the setting search.log says so",
    ),
    "add --all to see them": (
        N_("they are among the examples"),
        "they are among the examples",
    ),
    "give more examples, or --method": (
        N_("add examples, or start a search with another method"),
        "give more examples, or begin a search with another method",
    ),
    "leave --terms, --explain and --weights": (
        N_("rank without words and reasons"),
        "rank without words and reasons",
    ),
    "give --examples": (N_("enter ids of documents"), "give examples"),
    "give one with --name": (N_("give it one"), "give name"),
    "give --encoding (encoding=)": (
        N_("choose another encoding"),
        "give another encoding",
    ),
    "say what it holds, as in --label {name}, --column text={name} or --column "
    "ignore={name}": (
        N_("choose what it contains"),
        "say what it holds, as in column=label={name}",
    ),
    "say which is, as in --column text={name}": (
        N_("choose text for one of them"),
        "say which is, as in column=text={name}",
    ),
    "say what it holds (--column)": (
        N_("choose what it contains, or leave such rows out"),
        "say what it holds (column)",
    ),
    "give every row one of its own, or take no column as the id (--column fact=NAME), "
    "so that the file's name and the line are": (
        N_(
            "make the ids unique, or choose no column as the id, so that line numbers "
            "are used"
        ),
        "give every row its own, or take no column as the id (column=fact=NAME)",
    ),
    "leave it out (--column ignore={name})": (
        N_("choose to ignore it"),
        "leave it out (column=ignore={name})",
    ),
    "run classmark taxonomy import {file}": (
        N_("choose taxonomy as its contents"),
        "give the kind taxonomy",
    ),
    "undo it with: classmark undo {number}": (
        N_("it can be undone in the list of imports"),
        "undo it with POST /imports/{number}/undo",
    ),
    "give --format (format=)": (
        N_("rename the file so that its ending fits its format"),
        "give a name that ends as the names of such files do",
    ),
    "import it with classmark import": (
        N_("ask the person who runs the server to import it"),
        "have it imported on the machine itself, from the command line",
    ),
    "make one with: classmark init {folder}": (
        N_("make the project's folder available to the server again"),
        "make the project's folder available to the server again",
    ),
    "give a project directory (classmark init makes one)": (
        N_("make the project's folder available to the server again"),
        "make the project's folder available to the server again",
    ),
}
PAGES = {command: words[0] for command, words in WORDS.items()}
CALLS = {command: words[1] for command, words in WORDS.items()}


class Worded:
    """Let answers be in the words of calls, or of pages and in the reader's language.

    That is the language that a person has chosen, else the project's, else the one that
    the browser prefers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        with worded_for(scope, lambda: scope["app"].state.desk.settings.language):
            await self.app(scope, receive, send)


@contextmanager
def worded_for(scope: Scope, of_project: Callable[[], str]) -> Iterator[None]:
    """Answer in the words of calls or pages; of_project : the language it prefers."""
    if scope["type"] != "http" or for_programs(scope["path"]):
        with in_words_of(CALLS):
            yield
        return
    with in_words_of(PAGES), in_language(_language_of(Request(scope), of_project())):
        yield


def _language_of(request: Request, of_project: str) -> str:
    chosen = request.cookies.get("language", "")
    for code in (chosen, of_project):
        if code in codes():
            return code
    return preferred(request.headers.get("accept-language", ""))


def labelling_notice(done: GroupLabelled) -> str:
    """What a page says after documents were labelled together."""
    notice = ngettext(
        "%(name)s: %(n)s document labelled (#%(number)s in the history)",
        "%(name)s: %(n)s documents labelled (#%(number)s in the history)",
        done.labelled,
        name=done.name,
        number=done.number,
    )
    if not done.had:
        return notice
    before = ngettext("%(n)s had it already", "%(n)s had it already", done.had)
    return f"{notice}; {before}"
