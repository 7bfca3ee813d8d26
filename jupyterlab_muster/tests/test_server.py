"""A real Jupyter server with a real bridge: starts, stops, kills (§9 "Edge cases", §13)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

from jupyterlab_muster.bridge import is_alive

from .conftest import eventually, processes_of

TOKEN = "t" * 32
BASE = "/user/x/"


class Server:
    """``jupyter server`` with a token, a base_url and folders of its own."""

    def __init__(self, places: Path, **traits: object) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.log = places / f"server-{self.port}.log"
        for name in ("config", "data", "runtime", "work"):
            (places / name).mkdir(exist_ok=True)
        arguments = [f"--Muster.{name}={value}" for name, value in traits.items()]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "jupyter_server",
                    "--allow-root",
                    "--no-browser",
                    f"--port={self.port}",
                    f"--ServerApp.base_url={BASE}",
                    f"--ServerApp.root_dir={places / 'work'}",
                    "--ServerApp.allow_unauthenticated_access=False",
                    "--ServerApp.jpserver_extensions={'jupyterlab_muster': True}",
                    *arguments,
                ],
                env={
                    **os.environ,
                    "JUPYTER_TOKEN": TOKEN,
                    "JUPYTER_CONFIG_DIR": str(places / "config"),
                    "JUPYTER_DATA_DIR": str(places / "data"),
                    "JUPYTER_RUNTIME_DIR": str(places / "runtime"),
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.address = f"127.0.0.1:{self.port}{BASE}"
        eventually(lambda: self.up() or self.process.poll() is not None, 60)
        assert self.up(), self.log.read_text()

    def up(self) -> bool:
        try:
            return self.ask("GET", "api/status")[0] == 200
        except OSError:
            return False

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        request = urllib.request.Request(
            f"http://{self.address}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"token {TOKEN}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                text = answer.read()
                return answer.status, json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read() or b"null")

    def wait_for_bridge(self) -> dict[str, Any]:
        """Ask as the panel does, until the bridge answers."""
        answers: list[tuple[int, Any]] = []

        def answered() -> bool:
            answers.append(self.ask("GET", "muster/api/v1/health"))
            status, body = answers[-1]
            assert status == 200 or body["error"]["code"] == "bridge-starting", body
            return status == 200

        eventually(answered, 60)
        health: dict[str, Any] = answers[-1][1]
        return health

    def stop(self, number: int = signal.SIGTERM) -> float:
        """Seconds it took."""
        begun = time.monotonic()
        if self.process.poll() is None:
            os.killpg(self.process.pid, number)
        self.process.wait(timeout=30)
        return time.monotonic() - begun


@pytest.fixture
def servers(places: Path) -> Iterator[Any]:
    started: list[Server] = []

    def start(**traits: object) -> Server:
        started.append(Server(places, **traits))
        return started[-1]

    yield start
    for server in started:
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            server.stop(signal.SIGKILL)


def test_the_whole_way_from_jupyter_to_the_bridge(servers: Any, places: Path) -> None:
    server = servers()
    status, half = server.ask("GET", "muster/api/half")
    assert status == 200
    assert half["bridge"]["state"] == "absent"
    health = server.wait_for_bridge()
    assert health["protocol"] == half["protocol"]
    assert processes_of(places) == [health["pid"]]
    status, clusters = server.ask("GET", "muster/api/v1/clusters")
    assert (status, clusters) == (200, {"items": [], "next": None})
    status, refused = server.ask("POST", "muster/api/v1/clusters", {"nonsense": 1})
    assert status == 400
    assert refused["error"]["code"] == "spec-invalid"
    assert "Traceback" not in server.log.read_text()


def test_the_event_stream_says_hello_through_jupyter(servers: Any) -> None:
    server = servers()
    server.wait_for_bridge()

    async def first() -> dict[str, Any]:
        connection = await websocket_connect(
            HTTPRequest(
                f"ws://{server.address}muster/api/v1/events",
                headers={"Authorization": f"token {TOKEN}"},
            )
        )
        hello: dict[str, Any] = json.loads(await connection.read_message() or "null")
        connection.close()
        return hello

    hello = asyncio.run(first())
    assert hello["type"] == "hello"


def test_ten_rounds_of_start_and_stop_leave_one_bridge(servers: Any, places: Path) -> None:
    pids = set()
    for round_number in range(10):
        server = servers()
        pids.add(server.wait_for_bridge()["pid"])
        # Control-C as well: it must not reach the bridge.
        server.stop(signal.SIGTERM if round_number % 2 else signal.SIGINT)
    assert len(pids) == 1
    assert processes_of(places) == list(pids)


def test_a_server_that_is_killed_leaves_the_bridge_and_the_next_finds_it(
    servers: Any, places: Path
) -> None:
    pids = set()
    for _ in range(3):
        server = servers()
        pids.add(server.wait_for_bridge()["pid"])
        server.stop(signal.SIGKILL)
    assert len(pids) == 1
    assert processes_of(places) == list(pids)


def test_a_bridge_that_is_killed_comes_again_with_the_next_request(
    servers: Any, places: Path
) -> None:
    server = servers()
    seen = set()
    for _ in range(5):
        pid = server.wait_for_bridge()["pid"]
        seen.add(pid)
        os.kill(pid, signal.SIGKILL)
        eventually(lambda pid=pid: not is_alive(pid))
    server.wait_for_bridge()
    assert len(seen) == 5
    assert len(processes_of(places)) == 1
    assert "Traceback" not in server.log.read_text()


def test_two_servers_that_start_at_once_share_one_bridge(servers: Any, places: Path) -> None:
    first, second = servers(), servers()
    first.ask("GET", "muster/api/v1/health")
    second.ask("GET", "muster/api/v1/health")
    assert first.wait_for_bridge()["pid"] == second.wait_for_bridge()["pid"]
    eventually(lambda: len(processes_of(places)) == 1)


def test_without_clients_and_clusters_the_bridge_ends_by_itself(servers: Any, places: Path) -> None:
    server = servers(idle_timeout=1)
    server.wait_for_bridge()
    time.sleep(3)
    assert server.ask("GET", "muster/api/v1/health")[0] == 200, "a server is a client"
    server.stop()
    eventually(lambda: not processes_of(places), 90)
    assert not (places / "run" / "bridge.sock").exists()


def test_stopping_the_server_waits_for_nobody(servers: Any, places: Path) -> None:
    """jupyter-collaboration #503; here the bridge cannot even answer the goodbye."""
    server = servers()
    pid = server.wait_for_bridge()["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        assert server.stop() < 15
    finally:
        os.kill(pid, signal.SIGCONT)


def test_restarting_the_bridge_by_hand_gives_a_new_one(servers: Any, places: Path) -> None:
    server = servers()
    before = server.wait_for_bridge()["pid"]
    assert server.ask("POST", "muster/api/restart-bridge")[0] == 202
    eventually(lambda: server.ask("GET", "muster/api/half")[1]["bridge"]["state"] == "running", 60)
    assert server.wait_for_bridge()["pid"] != before
    eventually(lambda: len(processes_of(places)) == 1)


def test_a_runtime_folder_others_may_enter_is_an_error_with_the_fix(
    servers: Any, places: Path
) -> None:
    (places / "run").mkdir()
    (places / "run").chmod(0o755)
    server = servers()
    status, body = server.ask("GET", "muster/api/v1/health")
    assert status == 503
    assert body["error"]["code"] == "bridge-unavailable"
    assert body["error"]["details"]["fix"] == f"chmod 700 '{places / 'run'}'"


def test_nothing_of_the_secret_or_the_token_is_shown(servers: Any, places: Path) -> None:
    server = servers()
    pid = server.wait_for_bridge()["pid"]
    secret = json.loads((places / "run" / "bridge.json").read_text())["secret"]
    for process in (pid, server.process.pid):
        command = Path(f"/proc/{process}/cmdline").read_text()
        assert secret not in command
    environment = Path(f"/proc/{pid}/environ").read_text()
    assert TOKEN not in environment
    assert secret not in server.log.read_text()
    assert secret not in (places / "run" / "bridge.log").read_text()


def test_kernels_find_the_servers_bridge(servers: Any, places: Path) -> None:
    """`connect()` in a kernel: the folder the server was told travels in the environment."""
    elsewhere = places / "other"
    server = servers(socket_dir=str(elsewhere))
    server.wait_for_bridge()
    assert (elsewhere / "bridge.json").exists()
    assert server.ask("POST", "api/kernels", {"name": "python3"})[0] == 201
    kernels: list[str] = []

    def started() -> bool:
        kernels.extend(kernel_environments(server.process.pid))
        return bool(kernels)

    eventually(started)
    assert f"MUSTER_RUNTIME_DIR={elsewhere}" in kernels[0].split("\0")


def kernel_environments(server: int) -> list[str]:
    """Environments of the kernels that this server started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                if parent == server and "ipykernel" in (entry / "cmdline").read_text():
                    found.append((entry / "environ").read_text())
    return found
