"""A small bridge for tests, run as ``python fake_bridge.py serve --runtime DIR ...``.

It speaks the contract between the two halves (record, secret, hello, shutdown, WebSocket, close
codes) and echoes everything else, so that tests see what really reached the bridge.
Behaviour is chosen by FAKE_* variables.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import json
import os
import secrets
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

from tornado import web, websocket
from tornado.httpserver import HTTPServer
from tornado.iostream import StreamClosedError
from tornado.netutil import bind_unix_socket

SECRET = secrets.token_hex(32)


class State:
    def __init__(self, runtime: Path) -> None:
        self.runtime = runtime
        self.protocol = int(os.environ.get("FAKE_PROTOCOL", "1"))
        self.version = os.environ.get("FAKE_VERSION", "0.1.0")
        self.clusters = int(os.environ.get("FAKE_CLUSTERS", "0"))
        self.ready_at = time.monotonic() + float(os.environ.get("FAKE_RECOVERY", "0"))
        self.clients: dict[str, Any] = {}
        self.goodbyes: list[str] = []
        self.sockets: set[Events] = set()
        self.hung = 0
        self.stop = asyncio.Event()

    def record(self) -> None:
        """Written in one piece, as the real one does."""
        path = self.runtime / "bridge.json"
        temporary = path.with_suffix(".tmp")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(
                {
                    "pid": os.getpid(),
                    "startTime": 0,
                    "host": socket.gethostname(),
                    "bootId": "boot",
                    "epoch": 1,
                    "protocol": self.protocol,
                    "version": self.version,
                    "secret": SECRET,
                },
                file,
            )
        temporary.replace(path)


class Gate(web.RequestHandler):
    """Only the secret opens."""

    state: State

    def initialize(self, state: State) -> None:
        self.state = state

    def prepare(self) -> None:
        if self.request.headers.get("Authorization") != f"Bearer {SECRET}":
            self.set_status(401)
            self.finish({"error": {"code": "unauthorized", "message": "no"}})

    def seen(self) -> dict[str, Any]:
        """What reached the bridge."""
        return {
            "method": self.request.method,
            "uri": self.request.uri,
            "headers": dict(self.request.headers),
            "body": self.request.body.decode("utf-8", "replace"),
        }


class Health(Gate):
    def get(self) -> None:
        if time.monotonic() < self.state.ready_at:
            self.set_status(503)
            self.finish({"error": {"code": "bridge-starting", "message": "loading"}})
            return
        self.finish(
            {
                "protocol": self.state.protocol,
                "version": self.state.version,
                "bridge": "b" * 16,
                "epoch": 1,
                "host": "here",
                "pid": os.getpid(),
                "startedAt": "2026-01-01T00:00:00Z",
                "node": "24.0.0",
                "clusters": self.state.clusters,
            }
        )


class Shutdown(Gate):
    def post(self) -> None:
        if os.environ.get("FAKE_STUBBORN"):
            self.set_status(202)
            return
        self.set_status(202)
        asyncio.get_running_loop().call_later(0.05, self.state.stop.set)


class Clients(Gate):
    def put(self, client: str) -> None:
        self.state.clients[client] = json.loads(self.request.body)
        self.set_status(204)

    def delete(self, client: str) -> None:
        self.state.clients.pop(client, None)
        self.state.goodbyes.append(client)
        (self.state.runtime / "goodbyes").write_text(json.dumps(self.state.goodbyes))
        self.set_status(204)


class Known(Gate):
    def get(self) -> None:
        self.finish(
            {
                "clients": self.state.clients,
                "goodbyes": self.state.goodbyes,
                "sockets": len(self.state.sockets),
                "hung": self.state.hung,
            }
        )


class Lines(Gate):
    """Three lines with pauses: a stream must not be lumped together."""

    async def get(self) -> None:
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.set_header("X-Next-Offset", "18")
        for number in range(3):
            self.write(f"line {number}\n")
            await self.flush()
            await asyncio.sleep(0.4)


class Flood(Gate):
    """More than any buffer holds; counts how much was taken."""

    async def get(self) -> None:
        taken = 0
        try:
            for _ in range(1024):
                self.write(b"x" * 65536)
                await self.flush()
                taken += 65536
                (self.state.runtime / "flood").write_text(str(taken))
        except StreamClosedError:
            self.state.hung += 1


class Dies(Gate):
    """The bridge is killed while it answers."""

    async def get(self, how: str) -> None:
        if how == "amid":
            self.write("half of ")
            await self.flush()
        os.kill(os.getpid(), signal.SIGKILL)

    post = get


class Failing(Gate):
    def get(self) -> None:
        self.set_status(422)
        self.set_header("Set-Cookie", "evil=1")
        self.finish({"error": {"code": "policy", "message": "too many workers"}})


class Redirects(Gate):
    def get(self) -> None:
        self.set_status(302)
        self.set_header("Location", self.get_query_argument("to"))


class Dashboard(Gate):
    def get(self, rest: str) -> None:
        if "/~expired/" in rest:
            self.set_status(401)
            self.finish({"error": {"code": "unauthorized", "message": "this view has expired"}})
            return
        if rest.endswith("/bare"):
            self.finish("<p>no policy</p>")
            return
        self.set_header("Content-Security-Policy", "sandbox allow-scripts; default-src 'none'")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Set-Cookie", "evil=1")
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.finish("<p>dashboard</p><pre>" + json.dumps(self.seen()) + "</pre>")


class Echo(Gate):
    def answer(self, _rest: str) -> None:
        self.set_header("Set-Cookie", "evil=1")
        self.set_header("Server", "Fake")
        self.finish(self.seen())

    get = head = post = put = patch = delete = answer  # type: ignore[assignment]


class Events(websocket.WebSocketHandler, Gate):
    """Says hello first, then echoes; ``close CODE`` and ``die`` do as they say."""

    def select_subprotocol(self, subprotocols: list[str]) -> str | None:
        return "bokeh" if "bokeh" in subprotocols else None

    def open(self, *_args: str) -> None:
        self.state.sockets.add(self)
        self.write_message(json.dumps({"type": "hello", **self.seen()}))
        self.write_message(json.dumps({"type": "snapshot"}))

    async def on_message(self, message: str | bytes) -> None:
        if isinstance(message, str) and message.startswith("close "):
            self.close(int(message.split()[1]), "asked")
        elif message == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        elif message == "flood":
            sent = 0
            while sent < 512:
                await self.write_message(b"y" * 262144)
                sent += 1
                (self.state.runtime / "flood").write_text(str(sent * 262144))
        else:
            await self.write_message(message, binary=isinstance(message, bytes))

    def on_close(self) -> None:
        self.state.sockets.discard(self)
        self.state.hung += 1


async def serve(runtime: Path) -> int:
    state = State(runtime)
    given = {"state": state}
    application = web.Application(
        [
            (r"/api/v1/health", Health, given),
            (r"/api/v1/shutdown", Shutdown, given),
            (r"/api/v1/clients/(.*)", Clients, given),
            (r"/api/v1/known", Known, given),
            (r"/api/v1/lines", Lines, given),
            (r"/api/v1/flood", Flood, given),
            (r"/api/v1/dies/(.*)", Dies, given),
            (r"/api/v1/failing", Failing, given),
            (r"/api/v1/redirects", Redirects, given),
            (r"/(?:api/v1/events|dashboards/[^/]+(?:/~abc)?/ws)", Events, given),
            (r"/dashboards/(.*)", Dashboard, given),
            (r"/(api/.*)", Echo, given),
        ]
    )
    server = HTTPServer(application)
    path = runtime / "bridge.sock"
    path.unlink(missing_ok=True)
    server.add_socket(bind_unix_socket(str(path), mode=0o600))
    state.record()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, state.stop.set)
    await state.stop.wait()
    for handler in list(state.sockets):
        handler.close(1012, "restart")
    server.stop()
    path.unlink(missing_ok=True)
    (runtime / "bridge.json").unlink(missing_ok=True)
    await asyncio.sleep(0.1)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["serve"])
    for name in ("runtime", "state", "python", "config", "idle-timeout", "log-level"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    runtime = Path(options.runtime)
    with (runtime / "starts").open("a") as file:
        words = {"argv": sys.argv, "env": dict(os.environ), "pid": os.getpid()}
        file.write(json.dumps({**words, "cwd": str(Path.cwd()), "sid": os.getsid(0)}) + "\n")
    time.sleep(float(os.environ.get("FAKE_SLOW", "0")))
    if os.environ.get("FAKE_EXIT"):
        sys.stderr.write("the disk is on fire\n")
        return int(os.environ["FAKE_EXIT"])
    # As the database does in the real one: of two at once the loser exits 0.
    lock = (Path(options.state) / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return 0
    return asyncio.run(serve(runtime))


if __name__ == "__main__":
    sys.exit(main())
