"""A server of one's own: asked over HTTP, on this machine unless allowed otherwise."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from classmark import VectorServer
from classmark.problems import Mistake


class Embeddings(BaseHTTPRequestHandler):
    """Answers as OpenAI's embeddings do, the last text first."""

    def do_POST(self):
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.headers.get("Authorization"), question))
        status, body = self.server.answer(question)
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

    def log_message(self, *_):
        """Say nothing."""


def vectors(question):
    rows = [
        {"object": "embedding", "index": at, "embedding": [len(text), at + 1.0]}
        for at, text in enumerate(question["input"])
    ]
    return 200, {"object": "list", "data": rows[::-1], "model": question["model"]}


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Embeddings) as server:
        server.asked, server.answer = [], vectors
        server.url = f"http://127.0.0.1:{server.server_port}/v1/embeddings"
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        yield server
        server.shutdown()


def test_a_server_gives_vectors_in_the_order_of_the_texts(server):
    source = VectorServer(server.url, "tiny", batch=2, key="secret")
    assert (source.name, source.dimension) == ("tiny", 2)
    assert source.encode(["a", "bee", "so"]).tolist() == [[1, 1], [3, 2], [2, 1]]
    sent = [(key, question["input"]) for key, question in server.asked[1:]]
    assert sent == [("Bearer secret", ["a", "bee"]), ("Bearer secret", ["so"])]
    assert {question["model"] for _, question in server.asked} == {"tiny"}


def test_the_digest_is_of_the_model_and_what_it_answers(server):
    before = VectorServer(server.url, "tiny").digest
    assert VectorServer(server.url, "tiny").digest == before
    assert VectorServer(server.url, "other").digest != before
    other = {"data": [{"index": 0, "embedding": [-1.0, 5.0]}]}
    server.answer = lambda _: (200, other)
    assert VectorServer(server.url, "tiny").digest != before


def test_texts_do_not_leave_the_machine_unless_allowed(monkeypatch):
    for url in ("http://192.0.2.1/v1/embeddings", "https://example.org/v1/embeddings"):
        with pytest.raises(
            Mistake, match="would leave this machine; give --allow-remote"
        ):
            VectorServer(url, "tiny")
    asked = []
    monkeypatch.setattr(
        VectorServer, "_ask", lambda self, _: asked.append(self.url) or [[1.0]]
    )
    VectorServer("https://example.org/v1/embeddings", "tiny", allow_remote=True)
    assert asked == ["https://example.org/v1/embeddings"]


def test_a_redirection_is_not_followed(server):
    server.answer = lambda _: (302, b"")
    with pytest.raises(Mistake, match="answered 302"):
        VectorServer(server.url, "tiny")
    assert len(server.asked) == 1


def test_a_proxy_is_not_used(server, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://192.0.2.1:9")
    assert VectorServer(server.url, "tiny").dimension == 2


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((404, b"no such model"), r"answered 404 \(no such model\)"),
        ((200, b"<html>"), "something else than embeddings"),
        ((200, {"data": []}), "something else than embeddings"),
        ((200, {"data": [{"index": 0, "embedding": "AAAA"}]}), "something else"),
    ],
)
def test_what_the_server_does_wrong_is_told(server, answer, message):
    server.answer = lambda _: answer
    with pytest.raises(Mistake, match=message):
        VectorServer(server.url, "tiny")


def test_a_server_that_is_not_there_is_named():
    with pytest.raises(Mistake, match=r"does not answer .*start the server"):
        VectorServer("http://127.0.0.1:9/v1/embeddings", "tiny", timeout=2)


@pytest.mark.parametrize("url", ["file:///etc/hosts", "127.0.0.1:8080", "http://"])
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(Mistake, match="give http://HOST:PORT/v1/embeddings"):
        VectorServer(url, "tiny")
