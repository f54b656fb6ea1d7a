"""A Classmark server from a program: one file, nothing but the standard library.

>>> client = Client("http://127.0.0.1:8000", "cmk_…")
>>> client.suggest("smoke calms the bees", top=3)       # doctest: +SKIP
>>> client.decide("0231", assign=["bees"])["next"]      # doctest: +SKIP

Answers are what the server's JSON says, as dictionaries and lists; what it refuses is
raised as ``Refused``, with what is wrong and what to do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from select import select
from shutil import copyfileobj
from ssl import SSLContext
from time import monotonic, sleep
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit

__all__ = ["Client", "Refused"]
Json = dict[str, Any]
LOCAL = ("127.0.0.1", "localhost", "::1")
ROOT = "/api/v1"
POLL = 0.2  # seconds between two looks at a job


class Refused(ValueError):
    """A call that was not done, and why; nothing of it was written.

    status : of HTTP, 0 where nobody answered;  message : what is wrong;  remedy : what
    to do;  answer : all that was said, with ``theirs`` at a conflict (409).

    >>> print(Refused(404, {"error": {"message": "no document 'b'", "remedy": "look"}}))
    no document 'b': look
    """

    def __init__(self, status: int, answer: Json) -> None:
        error = answer.get("error", {})
        self.status, self.answer = status, answer
        self.message = str(error.get("message") or f"the server answered {status}")
        self.remedy = str(error.get("remedy", ""))
        super().__init__(
            f"{self.message}: {self.remedy}" if self.remedy else self.message
        )


class Client:
    """One project on a server; one connection, for one thread at a time.

    address : as ``classmark serve`` prints it;  token : as ``classmark tokens add``
    told it;  timeout : seconds for an answer;  context : for TLS.
    """

    def __init__(
        self, address: str, token: str = "", timeout: float = 60.0,
        context: SSLContext | None = None,
    ) -> None:  # fmt: skip
        parts = urlsplit(address)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise _refused(f"{address!r} is no address", "write http://127.0.0.1:8000")
        if token and parts.scheme == "http" and parts.hostname not in LOCAL:
            raise _refused(f"{address} would carry the token in clear", "use https://")
        self._host = parts.netloc.rpartition("@")[2]
        path = parts.path.rstrip("/").removesuffix("/enter")
        self.address, self.timeout = f"{parts.scheme}://{self._host}{path}", timeout
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._root = path + ROOT
        self._tls: Json = {"context": context} if parts.scheme == "https" else {}
        self._connection: HTTPConnection | None = None
        self._answer: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        if self._connection is not None:
            self._connection.close()
        self._connection = self._answer = None

    def project(self) -> Json:
        """What is in the project, and who you are in it."""
        return self.call("GET", "/project")

    def suggest(
        self, text: str = "", *, document: str = "", top: int = 5, why: int = 0
    ) -> list[Json]:
        """Categories for a text or a document, best first, with ``why`` words each."""
        body: Json = {"document": document} if document else {"text": text}
        body |= {"top": top, "why": why}
        return list(self.call("POST", "/suggest", body)["suggestions"])

    def why(self, category: str, text: str = "", *, document: str = "") -> Json:
        """What speaks for a category by its meaning: sentences and documents."""
        body: Json = {"document": document} if document else {"text": text}
        return self.call("POST", "/suggest/why", body | {"category": category})

    def suggest_many(
        self, texts: Sequence[str], *, top: int = 5, why: int = 0
    ) -> list[list[Json]]:
        """Categories for each of up to 256 texts."""
        items = [{"text": text} for text in texts]
        body = {"items": items, "top": top, "why": why}
        answers = self.call("POST", "/suggest/batch", body)["items"]
        return [each["suggestions"] for each in answers]

    def decide(self, document: str, **said: Any) -> Json:
        """Decide on a document; it is on disk when this returns.

        said : assign, primary, reject, unsure, remove (ids), over (pairs), aside, note,
        version (of the sheet; a conflict is refused with status 409), seen.
        """
        return self.call("POST", "/decide", {"document": document, **said})

    def skip(self, document: str) -> Json:
        """Put a document at the end of your queue."""
        return self.call("POST", "/skip", {"document": document})

    def note(self, document: str, text: str) -> Json:
        """Write a note on a document."""
        return self.call("POST", "/note", {"document": document, "text": text})

    def next(self, after: str | None = None) -> str | None:
        """The next document for you; None: none waits."""
        document: str | None = self.call("GET", "/next", after=after)["document"]
        return document

    def sheet(self, document: str, *, blind: bool = False) -> Json:
        """A document with its suggestions and what was said of it."""
        return self.call("GET", f"/sheet/{_in_path(document)}", blind=blind or None)

    def undo(self, number: int | None = None) -> Json:
        """Take back an act, or what you said last."""
        return self.call("POST", "/undo", {"number": number})

    def redo(self) -> Json:
        """Bring back what you undid last."""
        return self.call("POST", "/redo")

    def inbox(self, page: int = 1, **chosen: Any) -> Json:
        """The documents that wait; chosen : order, show, branch, words, who."""
        return self.call("GET", "/inbox", page=page, **chosen)

    def history(self, before: int | None = None, top: int = 50, **asked: Any) -> Json:
        """Lines of the log; asked : who, act, document, category, since, until."""
        return self.call("GET", "/history", before=before, top=top, **asked)

    def document(self, document: str) -> Json:
        """A document, and what was said of it."""
        return self.call("GET", f"/documents/{_in_path(document)}")

    def put(self, document: str, fields: Mapping[str, str], **said: Any) -> Json:
        """Add a document, or replace what it says; said : meta, links."""
        path = f"/documents/{_in_path(document)}"
        return self.call("PUT", path, {"fields": dict(fields), **said})

    def documents(self, page: int = 100) -> Iterator[Json]:
        """Every document in order of arrival, read page by page."""
        after: str | None = ""
        while after is not None:
            answer = self.call("GET", "/documents", after=after or None, top=page)
            yield from answer["documents"]
            after = answer["next"]

    def take_in(
        self, rows: Iterable[Json], wait: float = 30.0, *, replace: bool = False
    ) -> Json:
        """Send documents with their labels, one after the other; all or none.

        replace : documents that are there with other contents may be replaced.
        """
        lines = (json.dumps(row).encode() + b"\n" for row in rows)
        query = {"wait": wait, "replace": str(replace).lower()}
        path, kind = _with_query("/import", query), "application/x-ndjson"
        return self._read(self._send("POST", path, lines, kind))

    def take_out(self) -> Iterator[Json]:
        """Every document with its labels, as it can be taken in again."""
        for line in self._send("GET", "/export"):
            yield json.loads(line)

    def save(self, path: str, file: str, **query: Any) -> None:
        """Keep a file: /export/documents.csv, /backup, /like/1/found (format)."""
        answer = self._send("GET", _with_query(path, query))
        with Path(file).open("xb") as out:
            copyfileobj(answer, out)

    def categories(self, below: str | None = None, after: int = 0) -> Json:
        """The categories right below one, or at the top."""
        return self.call("GET", "/categories", below=below, after=after)

    def category(self, category: str) -> Json:
        """One category."""
        return self.call("GET", f"/categories/one/{_in_path(category)}")

    def find_categories(self, words: str, top: int = 12) -> list[Json]:
        """Categories by words of their names or notes."""
        answer = self.call("GET", "/categories/find", words=words, top=top)
        return list(answer["categories"])

    def add_category(self, category: str, **said: str) -> Json:
        """Add a category; said : label, parent, note, guideline."""
        return self.call("POST", "/categories", {"id": category, **said})

    def change_category(self, category: str, **said: Any) -> Json:
        """Rename or describe; said : id, label, note, guideline, notation, synonyms."""
        return self.call("PATCH", f"/categories/one/{_in_path(category)}", said)

    def change_tree(self, act: str, category: str, **said: Any) -> Json:
        """Move (under), merge (into), split (new, documents) or retire a category."""
        return self.call("POST", f"/categories/{act}", {"category": category, **said})

    def like(self, *examples: str, top: int = 20, **said: Any) -> Json:
        """Begin a search by examples; said : name, no, texts, category, screening."""
        return self.call("POST", "/like", {"examples": examples, **said}, top=top)

    def mark(self, search: int, marks: Mapping[str, str], top: int = 20) -> Json:
        """Say of documents yes, no, skip or example; the rest is ranked anew."""
        path, body = f"/like/{search}/mark", {"marks": dict(marks)}
        return self.call("POST", path, body, top=top)

    def liked(self, search: int, top: int = 20) -> Json:
        """A search as it stands, with the query it learned."""
        return self.call("GET", f"/like/{search}", top=top)

    def search(self, query: str, **how: Any) -> Json:
        """Search by words; how : top, model, parameters, weights, feedback, ranker."""
        return self.call("POST", "/search", {"query": query, **how})

    def click(self, impression: int, document: str) -> None:
        """Say that a document was opened from a list that was kept."""
        self.call("POST", "/click", {"impression": impression, "document": document})

    def learn(self) -> bool:
        """Wait until all that was decided is learned."""
        return bool(self.call("POST", "/learn")["learned"])

    def start(self, work: str, **how: Any) -> Json:
        """Begin long work; a job.

        work : train, evaluate, index, rebuild, categories/report, categories/prune,
        categories/propose, rankers, rankers/evaluate or tune;  how : what its call
        takes, as in start("rankers", queries={"1": "salt"}, qrels={"1": {"a7": 1}}).
        """
        return self.call("POST", f"/{work}", how or None)

    def job(self, number: int) -> Json:
        """How far a job is, and what came of it."""
        return self.call("GET", f"/jobs/{number}")

    def wait(self, job: Json, timeout: float = 600.0) -> Json:
        """Wait until a job has ended; one that failed is refused, with its reason."""
        until = monotonic() + timeout
        while (found := self.job(job["id"]))["state"] == "running":
            if monotonic() > until:
                message = f"job {job['id']} still runs after {timeout:g} s"
                raise _refused(message, "wait again")
            sleep(POLL)
        if found["state"] == "failed":
            message, _, remedy = found["mistake"].rpartition(": ")
            raise _refused(message or remedy, remedy if message else "")
        return found

    def place(self, *documents: str, precision: float = 0.95, top: int = 20) -> Json:
        """Where documents can be put for sure; of those that wait, if none is named."""
        body = {"documents": documents, "precision": precision, "top": top}
        return self.call("POST", "/place", body)

    def proposals(self, category: str) -> list[Json]:
        """The daughters that were proposed last below a category."""
        path = f"/categories/proposals/{_in_path(category)}"
        return list(self.call("GET", path)["proposals"])

    def accept_proposal(self, category: str, number: int, **names: str) -> Json:
        """Make a proposed daughter a category; names : id, label."""
        body = {"category": category, "number": number, **names}
        return self.call("POST", "/categories/accept", body)

    def rankers(self) -> list[Json]:
        """The learned rankers of search, with what they reached."""
        return list(self.call("GET", "/rankers")["rankers"])

    def use_ranker(self, number: int | None) -> Json:
        """Put a ranker into service; None: the model alone orders."""
        return self.call("PUT", "/rankers/service", {"number": number})

    def pagerank(self, **how: Any) -> Json:
        """The documents by links; how : damping, method, top; links : of your own."""
        if "links" in how:
            return self.call("POST", "/pagerank", how)
        return self.call("GET", "/pagerank", **how)

    def progress(self) -> Json:
        """How far the work is, and how well the suggestions fit."""
        return self.call("GET", "/progress")

    def call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None,
        **query: Any,
    ) -> Json:  # fmt: skip
        """Any call of the server, by its path after /api/v1; None is left out."""
        path, kind = _with_query(path, query), "application/json"
        sent = None if body is None else json.dumps(body).encode()
        return self._read(self._send(method, path, sent, kind))

    def _send(self, method: str, path: str, body: Any = None, kind: str = "") -> Any:
        headers = self._headers | ({"Content-Type": kind} if body is not None else {})
        try:
            line = self._open()
            line.request(method, self._root + path, body, headers)
            self._answer = line.getresponse()
        except (OSError, HTTPException) as problem:
            self.close()
            message = f"{self.address} did not answer ({problem})"
            raise _refused(message, "see whether it is being served") from problem
        if self._answer.status >= 400:
            self._read(self._answer)
        return self._answer

    def _read(self, answer: HTTPResponse) -> Json:
        try:
            content = dict(json.loads(answer.read() or b"{}"))
        except (TypeError, ValueError):
            content = {}
        if answer.status >= 400:
            raise Refused(answer.status, content)
        return content

    def _open(self) -> HTTPConnection:
        """The connection, or another where the server has closed it meanwhile."""
        line = self._connection
        unread = self._answer is not None and not self._answer.isclosed()
        if unread or (line and line.sock and select([line.sock], [], [], 0)[0]):
            self.close()
        if self._connection is None:
            connection_class = HTTPSConnection if self._tls else HTTPConnection
            self._connection = connection_class(
                self._host, timeout=self.timeout, **self._tls
            )
        return self._connection


def _refused(message: str, remedy: str) -> Refused:
    return Refused(0, {"error": {"message": message, "remedy": remedy}})


def _with_query(path: str, query: Mapping[str, Any]) -> str:
    encoded = urlencode({k: v for k, v in query.items() if v is not None})
    return f"{path}?{encoded}" if encoded else path


def _in_path(text: str) -> str:
    """An id as part of a path."""
    return quote(text, safe="")
