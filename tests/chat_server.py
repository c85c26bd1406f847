"""A server on this machine with the interface of openai's, as far as it is used, and clients without the library."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any
from urllib.request import Request, urlopen


def client_with(create: Any) -> Any:
    """A client with the one method of openai's that is called."""
    return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))


@contextmanager
def serving(answer: Callable[[dict[str, Any]], str | None]) -> Iterator[str]:
    """Runs a server that answers by a function of the question; gives its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            message = {"role": "assistant", "content": answer(asked)}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            said = {"id": "1", "object": "chat.completion", "created": 0, "model": asked["model"], "choices": [choice]}
            body = json.dumps(said).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def asking(answer: Callable[[dict[str, Any]], str | None]) -> Iterator[Callable[..., Any]]:
    """Runs such a server; gives the method that asks it."""
    with serving(answer) as url:

        def create(**asked: Any) -> Any:
            request = Request(f"{url}/chat/completions", json.dumps(asked).encode())
            with urlopen(request, timeout=10) as answered:
                return json.load(answered, object_hook=lambda values: SimpleNamespace(**values))

        yield create
