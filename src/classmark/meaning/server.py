"""Vectors of a server that the user names, asked with the standard library alone."""

from __future__ import annotations

import json
from http.client import HTTPException
from ipaddress import ip_address
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPRedirectHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
)

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats
from classmark.meaning.sources import PROBE, MeaningSource, probed
from classmark.problems import Mistake, worded

EXAMPLE = "http://HOST:PORT/v1/embeddings"


class _NoRedirect(HTTPRedirectHandler):
    """A redirection would carry the texts elsewhere: it is an error."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow none."""


class VectorServer(MeaningSource):
    """Vectors of a server's ``/v1/embeddings``, as OpenAI's and many others have it.

    url : such as "http://127.0.0.1:8080/v1/embeddings";  model : its name there;
    allow_remote : whether the address may be another machine, to which all texts are
    then sent;  key : sent as a bearer token, where the server asks for one;  batch :
    texts in one request;  timeout : seconds for one of them.

    The digest is of the model's name and its vector of one sentence. No proxy is used,
    no redirection followed.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        allow_remote: bool = False,
        key: str | None = None,
        batch: int = 64,
        timeout: float = 60.0,
    ) -> None:
        try:
            address = urlsplit(url)
        except ValueError as error:
            raise Mistake(f"url is {url!r}: {error}: give {EXAMPLE}") from error
        if address.scheme not in {"http", "https"} or not address.hostname:
            raise Mistake(f"url is {url!r}: give {EXAMPLE}")
        if not allow_remote and not is_loopback(address.hostname):
            raise Mistake(
                f"url is {url!r}: your texts would leave this machine; "
                f"{worded('give --allow-remote (allow_remote=)')} if they may"
            )
        if batch < 1:
            raise Mistake(f"batch is {batch!r}: give 1 or more")
        self.url, self.name = url, model
        self.batch, self.timeout, self._key = batch, timeout, key
        self._opener: OpenerDirector = build_opener(ProxyHandler({}), _NoRedirect())
        self.dimension, self.digest = probed(model, self._ask([PROBE]))

    def _vectors(self, texts: list[str]) -> ArrayLike:
        batches = range(0, len(texts), self.batch)
        return np.vstack([self._ask(texts[at : at + self.batch]) for at in batches])

    def _ask(self, texts: list[str]) -> Floats:
        """One request; the rows of the answer in the order of the texts."""
        question = {"model": self.name, "input": texts, "encoding_format": "float"}
        headers = {"Content-Type": "application/json"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        request = Request(self.url, json.dumps(question).encode(), headers)  # noqa: S310
        try:
            with self._opener.open(request, timeout=self.timeout) as response:
                answer = response.read()
        except HTTPError as error:
            reason = error.read(300).decode("utf-8", "replace").strip()
            raise Mistake(
                f"{self.url} answered {error.code} ({reason}): look at the address, "
                f"the model {self.name!r} and the key"
            ) from error
        except (URLError, OSError, HTTPException, ValueError) as error:
            raise Mistake(
                f"{self.url} does not answer ({error}): start the server, or give its "
                "address"
            ) from error
        try:
            rows = {
                row["index"]: row["embedding"] for row in json.loads(answer)["data"]
            }
            return np.array([rows[at] for at in range(len(texts))], np.float64)
        except (ValueError, KeyError, TypeError) as error:
            raise Mistake(
                f"{self.url} answered something else than embeddings: give the "
                "address of /v1/embeddings"
            ) from error


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
