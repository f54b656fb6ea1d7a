"""What to do, as pages and calls say it: the command line's words → theirs."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import ASGIApp, Receive, Scope, Send

from classmark.problems import in_words_of
from classmark.web.guard.errors import for_programs

SAY = "say --assign, --primary, --reject, --unsure, --remove, --over or --aside"
WORDS: Mapping[str, tuple[str, str]] = {
    "run classmark train": (
        "train anew (Settings, Model and jobs)",
        "call POST /train",
    ),
    "classmark train --base svm": (
        "train anew with the base svm (Settings)",
        "POST /train with the setting learning.base svm",
    ),
    "run classmark train --memory with more first": (
        "allow more memory in the settings, then train anew",
        "allow more with the setting learning.memory, then call POST /train",
    ),
    "run classmark train --loss dom first": (
        "choose the loss dom in the settings, then train anew",
        "choose dom for the setting learning.loss, then call POST /train",
    ),
    "run classmark train --learner plm first": (
        "choose the learner plm in the settings, then train anew",
        "choose plm for the setting learning.learner, then call POST /train",
    ),
    "run classmark train --no-vote first": (
        "turn the setting vote off, then train anew",
        "choose no for the setting learning.vote, then call POST /train",
    ),
    "run classmark rebuild": (
        "train anew (Settings, Model and jobs)",
        "call POST /rebuild",
    ),
    "(classmark meaning set SOURCE)": ("(Settings, Meaning)", "(PUT /meaning)"),
    "(classmark meaning set own)": ("(Settings, Meaning)", "(PUT /meaning)"),
    "(classmark meaning set own NAME)": ("(Settings, Meaning)", "(PUT /meaning)"),
    "import one (classmark meaning import FILE)": (
        "import the document with one (JSON lines, vector)",
        "import the document with one (POST /import, vector)",
    ),
    "import some (classmark meaning import FILE)": (
        "import documents with them (JSON lines, vector)",
        "import documents with them (POST /import, vector)",
    ),
    "give --allow-remote (allow_remote=)": (
        "choose yes for allow remote (Settings, Meaning)",
        "give allow_remote (PUT /meaning)",
    ),
    "set none (classmark meaning set none) and run classmark train": (
        "choose none (Settings, Meaning) and train anew",
        "choose none (PUT /meaning) and call POST /train",
    ),
    "with classmark train": ("in a training", "with POST /train"),
    "with the next classmark train": (
        "with the next training",
        "with the next POST /train",
    ),
    "until the next classmark train": (
        "until the next training",
        "until the next POST /train",
    ),
    "--strategy": ("the strategy", "the setting learning.strategy"),
    "--base": ("the base", "the setting learning.base"),
    "--memory": ("the setting memory", "the setting learning.memory"),
    "--thresholds": ("the setting thresholds", "the setting learning.thresholds"),
    "--learner": ("the learner", "the setting learning.learner"),
    "--select-features": ("select features", "the setting learning.select_features"),
    "say --replace": (
        "choose Import, and replace",
        "give replace=true",
    ),
    "leave --learner out": (
        "choose the learner plm",
        "choose plm for the setting learning.learner",
    ),
    "use --no-rare": (
        "turn the setting rare off",
        "choose no for the setting learning.rare",
    ),
    "(classmark import FILE)": ("(Import and export)", "(POST /import)"),
    "(classmark decide)": ("(Decide)", "(POST /decide)"),
    "let classmark taxonomy import --break-cycles cut it": (
        "bring the file in from the command line, which can cut it",
        "bring the file in from the command line, which can cut it",
    ),
    "make one with classmark taxonomy train-meta FILE": (
        "choose another policy in the settings",
        "choose another with the setting learning.policy",
    ),
    "with classmark taxonomy import FILE": (
        "on Import and export",
        "with POST /import and kind=taxonomy",
    ),
    "run classmark taxonomy add {category}": (
        "add it on the page Taxonomy",
        "add it with POST /categories",
    ),
    "run classmark taxonomy propose {node}": (
        "have daughters proposed on the category's page",
        "call POST /categories/propose",
    ),
    SAY: (
        "choose a category, or set the document aside",
        "give assign, primary, reject, unsure, remove, over or aside",
    ),
    "give the number of another's act (classmark history lists them)": (
        "what others did is in History",
        "give the number of another's act (GET /history lists them)",
    ),
    "see the numbers with classmark history": (
        "see the numbers in History",
        "see the numbers with GET /history",
    ),
    "run classmark undo {number}": (
        "undo act {number} in History",
        "call POST /undo with the number {number}",
    ),
    "give a new password with classmark users password": (
        "give this one a new password in the list of people",
        "give this one a new password with PATCH /users/NAME",
    ),
    "see classmark users list": ("see the list of people", "see GET /users"),
    "see classmark tokens list": ("see the list of tokens", "see GET /tokens"),
    "with classmark index --project {folder}": (
        "on the page Search",
        "with POST /index",
    ),
    "classmark index brings the index up to date": (
        "the page Search brings the index up to date",
        "POST /index brings the index up to date",
    ),
    "(classmark index --positions)": (
        "(on the machine itself, from the command line)",
        "(on the machine itself, from the command line)",
    ),
    "--set": ("the model's parameters:", "parameters:"),
    "--weight": ("what fields count:", "weights:"),
    "--feedback": ("words of the first answers", "feedback"),
    "--prior": ("what links say:", "prior:"),
    "--model": ("a model", "model"),
    "leave --workers and --on out, or give --hybrid no": (
        "order by words alone",
        "give hybrid no",
    ),
    "--hybrid": ("the choice of words and meaning", "hybrid"),
    "classmark meaning compute computes what is missing": (
        "Settings, Meaning computes what is missing",
        "POST /meaning/compute computes what is missing",
    ),
    "give --parameter weight=0:4:0.5, or none": (
        "give weight=0:4:0.5, or none",
        'give parameters {{"weight": "0:4:0.5"}}, or none',
    ),
    "--ranker": ("a ranker", "ranker"),
    "--explain": ("what a score is made of", "what a score is made of"),
    "take it out with classmark rank use none": (
        "have it taken out of service (Settings, Search order)",
        "take it out with PUT /rankers/service",
    ),
    "train one again with classmark rank train": (
        "have one trained again (Settings, Search order)",
        "train one again with POST /rankers",
    ),
    "classmark rank use {number} puts it there all the same": (
        "Put in service puts it there all the same",
        "PUT /rankers/service with the number {number} puts it there all the same",
    ),
    "log searches with classmark search --log, and what is opened with classmark "
    "click": (
        "let searches and what is opened from them be kept (Settings, search.log)",
        "let the setting search.log keep what POST /search and POST /click say",
    ),
    "log more searches (classmark search --log) and what is opened (classmark click)": (
        "let more searches and what is opened from them be kept",
        "let more of POST /search and POST /click be kept",
    ),
    "give --queries FILE and --qrels FILE, or --dataset NAME for those of a known "
    "collection": (
        "give queries and judgments of them",
        "give queries and qrels",
    ),
    "give --parameter b=0:1:0.05": (
        "give one, as in b=0:1:0.05",
        'give parameters, as in {{"b": "0:1:0.05"}}',
    ),
    "search with --ranker none": (
        "order by the model alone",
        "search with the ranker none",
    ),
    "classmark search --log makes one": (
        "a search makes one, where the settings say that searches are kept",
        "POST /search makes one, where the setting search.log says so",
    ),
    "add --all to see them": (
        "they are among the examples",
        "they are among the examples",
    ),
    "give more examples, or --method": (
        "give more examples, or begin a search that learns in another way",
        "give more examples, or begin a search with another method",
    ),
    "leave --terms, --explain and --weights": (
        "rank without words and reasons",
        "rank without words and reasons",
    ),
    "give --examples, --file or --category": (
        "name a document, or paste a text",
        "give examples, texts or a category",
    ),
    "give --examples": ("name documents", "give examples"),
    "give one with --name": ("give it one", "give name"),
    "give --encoding (encoding=)": (
        "choose another encoding",
        "give another encoding",
    ),
    "say what it holds, as in --label {name}, --column text={name} or --column "
    "ignore={name}": (
        "choose what it holds",
        "say what it holds, as in column=label={name}",
    ),
    "say which is, as in --column text={name}": (
        "choose text for one of them",
        "say which is, as in column=text={name}",
    ),
    "say what it holds (--column)": (
        "choose what it holds, or leave such rows out",
        "say what it holds (column)",
    ),
    "give every row one of its own, or take no column as the id (--column fact=NAME), "
    "so that the file's name and the line are": (
        "give every row its own, or choose no column as the id: then line numbers are",
        "give every row its own, or take no column as the id (column=fact=NAME)",
    ),
    "leave it out (--column ignore={name})": (
        "choose to leave it out",
        "leave it out (column=ignore={name})",
    ),
    "run classmark taxonomy import {file}": (
        "choose that it holds a taxonomy",
        "give the kind taxonomy",
    ),
    "undo it with: classmark undo {number}": (
        "it can be undone in the list of imports",
        "undo it with POST /imports/{number}/undo",
    ),
    "give --format (format=)": (
        "let its name end as the names of such files do",
        "give a name that ends as the names of such files do",
    ),
    "import it with classmark import": (
        "have it imported on the machine itself, from the command line",
        "have it imported on the machine itself, from the command line",
    ),
    "make one with: classmark init {folder}": (
        "let the server see the project's folder again",
        "let the server see the project's folder again",
    ),
    "give a project directory (classmark init makes one)": (
        "let the server see the project's folder again",
        "let the server see the project's folder again",
    ),
}
PAGES = {command: words[0] for command, words in WORDS.items()}
CALLS = {command: words[1] for command, words in WORDS.items()}


class Worded:
    """Let what is answered say what to do in the words of pages, or of calls."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        with in_words_of(CALLS if for_programs(scope.get("path", "")) else PAGES):
            await self.app(scope, receive, send)
