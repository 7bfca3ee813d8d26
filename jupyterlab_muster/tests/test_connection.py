"""``connect`` and ``cluster`` in a notebook (specs/api.md §4)."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

import jupyterlab_muster
from jupyterlab_muster.connection import Cluster, bridge_request, cluster, connect
from jupyterlab_muster.errors import BridgeUnavailable, MusterError

TOKEN = "t0ken"


class Api(http.server.BaseHTTPRequestHandler):
    """The routes a notebook uses, over TCP, as the relay or ``muster serve --port`` serve them."""

    clusters: dict[str, dict[str, Any]]
    asked: list[tuple[str, str, Any]]
    page = 1000

    def answer(self, status: int, body: Any) -> None:
        text = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def handle_request(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        if self.headers.get("Authorization") != f"token {TOKEN}":
            self.answer(403, {"message": "Forbidden", "reason": None})
            return
        path = self.path.removeprefix("/user/x/muster/api/v1/clusters")
        self.asked.append((self.command, path, body))
        if path == "" or path.startswith("?"):
            start = int(path.partition("cursor=")[2] or 0)
            items = list(self.clusters.values())
            rest = start + self.page < len(items)
            self.answer(
                200,
                {
                    "items": items[start : start + self.page],
                    "next": str(start + self.page) if rest else None,
                },
            )
            return
        name, _, rest_of = path.lstrip("/").partition("?")[0].partition("/")
        found = [c for c in self.clusters.values() if name in (c["id"], c["name"])]
        if not found:
            error = {"code": "not-found", "message": f"there is no cluster {name!r}", "hint": "h"}
            self.answer(404, {"error": error})
        elif rest_of == "connection":
            self.answer(200, found[0]["connection"])
        elif self.command == "DELETE":
            self.answer(202, None)
        else:
            self.answer(200, found[0])

    do_GET = do_PATCH = do_DELETE = handle_request  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Quiet."""


def view(name: str, phase: str = "running", groups: tuple[str, ...] = ("default",)) -> dict:
    return {
        "id": f"id-{name}",
        "name": name,
        "phase": phase,
        "groups": [{"name": group} for group in groups],
        "connection": {"address": "tcp://127.0.0.1:9", "security": None},
    }


@pytest.fixture
def api(places: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Api]]:
    class Here(Api):
        clusters: ClassVar[dict[str, dict[str, Any]]] = {}
        asked: ClassVar[list[tuple[str, str, Any]]] = []

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Here)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}/user/x"
    monkeypatch.setenv("JUPYTER_SERVER_URL", address)
    monkeypatch.setenv("JUPYTER_TOKEN", TOKEN)
    yield Here
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """What distributed.Client was given, in place of a connection."""
    made: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr("distributed.Client", lambda address, **kw: made.append((address, kw)))
    return made


def test_a_name_gives_a_client_with_the_clusters_certificates(
    api: type[Api], client: list, tmp_path: Path
) -> None:
    files = {key: str(tmp_path / key) for key in ("caFile", "certFile", "keyFile")}
    api.clusters["a"] = {
        **view("analysis"),
        "connection": {"address": "tls://10.1.2.3:41873", "security": files},
    }
    connect("analysis", set_as_default=False, timeout=3)
    address, options = client[0]
    assert address == "tls://10.1.2.3:41873"
    assert (options["set_as_default"], options["timeout"]) == (False, 3)
    security = options["security"]
    assert security.require_encryption is True
    assert security.tls_ca_file == files["caFile"]
    assert security.tls_client_cert == files["certFile"]
    assert security.tls_client_key == files["keyFile"]


def test_without_a_name_the_notebooks_own_cluster_is_taken(
    api: type[Api], client: list, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.clusters = {name: view(name) for name in ("a", "b")}
    monkeypatch.setenv("MUSTER_CLUSTER", "b")
    connect()
    assert api.asked[-1][1] == "/b/connection"


def test_without_one_the_only_running_cluster_is_taken(api: type[Api], client: list) -> None:
    api.clusters = {"a": view("a", "stopped"), "b": view("b"), "c": view("c", "failed")}
    connect()
    assert api.asked[-1][1] == "/id-b/connection"


def test_several_or_none_are_said(api: type[Api]) -> None:
    with pytest.raises(MusterError, match="No cluster is running"):
        connect()
    api.clusters = {name: view(name) for name in ("etl", "analysis")}
    with pytest.raises(MusterError, match="'analysis', 'etl'") as caught:
        connect()
    assert "connect('name')" in str(caught.value)


def test_a_list_of_several_pages_is_read_to_its_end(api: type[Api], client: list) -> None:
    api.page = 2
    api.clusters = {str(n): view(f"old{n}", "stopped") for n in range(5)}
    api.clusters["x"] = view("last")
    connect()
    assert api.asked[-1][1] == "/id-last/connection"


def test_the_bridges_words_reach_the_person(api: type[Api]) -> None:
    with pytest.raises(MusterError, match="there is no cluster 'nope'") as caught:
        connect("nope")
    assert caught.value.code == "not-found"
    assert caught.value.status == 404


def test_scale_and_adapt_say_it_in_the_apis_words(api: type[Api]) -> None:
    api.clusters["a"] = view("a")
    mine = cluster("a")
    mine.scale(8)
    mine.scale(memory="1 TB")
    mine.adapt(0, 8)
    mine.adapt({"cores": 4}, "64 GiB")
    sent = [body for method, _, body in api.asked if method == "PATCH"]
    assert sent == [
        {"scale": {"default": {"type": "fixed", "workers": 8}}},
        {"scale": {"default": {"type": "fixed", "memory": "1 TB"}}},
        {
            "scale": {
                "default": {
                    "type": "adaptive",
                    "minimum": {"workers": 0},
                    "maximum": {"workers": 8},
                }
            }
        },
        {
            "scale": {
                "default": {
                    "type": "adaptive",
                    "minimum": {"cores": 4},
                    "maximum": {"memory": "64 GiB"},
                }
            }
        },
    ]


def test_with_several_groups_one_must_be_named(api: type[Api]) -> None:
    api.clusters["a"] = view("a", groups=("cpu", "gpu"))
    with pytest.raises(ValueError, match="cpu, gpu"):
        cluster("a").scale(1)
    cluster("a").scale(1, group="gpu")
    assert api.asked[-1][2] == {"scale": {"gpu": {"type": "fixed", "workers": 1}}}


def test_wrong_use_is_said_before_anything_is_sent(api: type[Api]) -> None:
    mine = cluster("a")
    with pytest.raises(TypeError):
        mine.scale()
    with pytest.raises(TypeError):
        mine.scale(1, cores=2)
    with pytest.raises(TypeError):
        mine.adapt(1)
    assert api.asked == []


def test_stop_and_view(api: type[Api]) -> None:
    api.clusters["a"] = view("a")
    mine = cluster("a")
    assert (mine.name, mine.id) == ("a", "id-a")
    assert mine.view["phase"] == "running"
    mine.stop()
    mine.stop(force=True)
    assert [path for method, path, _ in api.asked if method == "DELETE"] == ["/a", "/a?force=true"]


def test_a_wrong_token_shows_jupyters_own_words(
    api: type[Api], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_TOKEN", "wrong")
    with pytest.raises(MusterError, match="403: Forbidden"):
        connect("a")


def test_where_nothing_answers_it_is_said_how_to_begin(places: Path) -> None:
    with pytest.raises(BridgeUnavailable, match="No Muster bridge answers here") as caught:
        bridge_request()
    assert "muster list" in str(caught.value)


def test_a_kernel_without_dask_is_told_what_to_install(
    api: type[Api], monkeypatch: pytest.MonkeyPatch
) -> None:
    api.clusters["a"] = view("a")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match="pip install"):
        connect("a")


def test_a_name_is_never_more_than_a_name(api: type[Api]) -> None:
    with pytest.raises(MusterError):
        connect("../../shutdown?x=")
    assert api.asked[-1][1] == "/..%2F..%2Fshutdown%3Fx%3D/connection"


def test_the_package_itself_imports_only_the_standard_library() -> None:
    """Kernels and jobs import it, with whatever they have or have not (ipyparallel #928)."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import jupyterlab_muster as m; m.connect;"
        "print(sorted({n.partition('.')[0] for n in sys.modules} & {'jupyter_core',"
        "'jupyter_server', 'tornado', 'traitlets', 'dask', 'distributed', 'zmq', 'yaml'}))"
    )
    root = str(Path(jupyterlab_muster.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, root],
        capture_output=True,
        text=True,
        env={**os.environ},
    )
    assert done.stderr == ""
    assert done.stdout.strip() == "[]"


def test_connect_is_the_function_however_it_is_reached() -> None:
    import jupyterlab_muster.connection  # binds the module first

    assert jupyterlab_muster.connect is connect
    assert jupyterlab_muster.cluster is cluster
    assert jupyterlab_muster.Cluster is Cluster
    with pytest.raises(AttributeError):
        jupyterlab_muster.nothing  # noqa: B018
