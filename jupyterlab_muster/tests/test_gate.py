"""Who comes in: each route, with every kind of credential (§10.6; S4, S5, S6, S7)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jupyter_server.base.handlers import JupyterHandler
from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from jupyterlab_muster.app import Muster
from jupyterlab_muster.bridge import BridgeSettings
from jupyterlab_muster.handlers import MusterHandler

from .conftest import processes_of

BASE = "/user/x/"

#: pattern of a route -> (a path of it, its methods). A route missing here fails the first test.
ROUTES: dict[str, tuple[str, tuple[str, ...]]] = {
    r"/muster/api/half/?": ("muster/api/half", ("GET",)),
    r"/muster/api/restart-bridge/?": ("muster/api/restart-bridge", ("POST",)),
    r"/muster/api/(v1/.*)": (
        "muster/api/v1/clusters",
        ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"),
    ),
    r"/muster/(dashboards/.*)": (
        "muster/dashboards/k3v9/status",
        ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"),
    ),
}
#: Open to whoever holds a ticket of the bridge; test_relay.py has its tests.
TICKETED = r"/muster/(dashboards/[^/]{1,64}/~[0-9a-z]{1,64}/.*)"
CASES = [(path, method) for path, methods in ROUTES.values() for method in methods]
SOCKETS = ["muster/api/v1/events", "muster/dashboards/k3v9/ws"]


@pytest.fixture
def jp_base_url() -> str:
    return BASE


@pytest.fixture
def jp_server_config(
    settings: Callable[..., BridgeSettings], monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    monkeypatch.setattr(Muster, "bridge_settings", lambda self: settings())
    return {
        "ServerApp": {
            "jpserver_extensions": {"jupyterlab_muster": True},
            "allow_unauthenticated_access": False,
        }
    }


class Client:
    """A browser or program with some credentials."""

    def __init__(self, server: Any, address: str) -> None:
        self.address = address
        self.token = server.identity_provider.token
        self.host = address.partition("/")[0]

    async def cookie(self, xsrf: bool) -> dict[str, str]:
        """What a browser sends that was signed in by Jupyter itself."""
        found: dict[str, str] = {}
        for page in ("login", f"api/status?token={self.token}"):
            answer = await AsyncHTTPClient().fetch(f"http://{self.address}{page}")
            for header in answer.headers.get_list("Set-Cookie"):
                name, _, value = header.partition(";")[0].partition("=")
                found[name] = value
        assert any(name.startswith("username-") for name in found)
        headers = {"X-XSRFToken": found["_xsrf"]} if xsrf else {}
        wanted = {name: value for name, value in found.items() if xsrf or name != "_xsrf"}
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in wanted.items())
        return headers

    async def status(self, method: str, path: str, headers: dict[str, str]) -> int:
        body = "{}" if method in ("POST", "PUT", "PATCH") else None
        request = HTTPRequest(
            f"http://{self.address}{path}",
            method=method,
            headers=headers,
            body=body,
            follow_redirects=False,
        )
        answer = await AsyncHTTPClient().fetch(request, raise_error=False)
        assert "evil" not in str(answer.headers)
        return answer.code

    async def upgrade(self, path: str, headers: dict[str, str]) -> int:
        request = HTTPRequest(f"ws://{self.address}{path}", headers=headers)
        try:
            connection = await websocket_connect(request)
        except HTTPClientError as error:
            return error.code
        message = await connection.read_message()
        assert message is not None
        assert json.loads(message)["type"] == "hello"
        connection.close()
        return 101


@pytest.fixture
def client(jp_serverapp: Any, http_server: Any, http_server_port: tuple[Any, int]) -> Client:
    return Client(jp_serverapp, f"127.0.0.1:{http_server_port[-1]}{BASE}")


def test_every_route_is_in_the_matrix(jp_serverapp: Any) -> None:
    routes = {route[0] for route in jp_serverapp.web_app.settings["muster"].handlers}
    assert routes == {*ROUTES, TICKETED}


def test_every_handler_of_ours_goes_through_the_one_gate(jp_serverapp: Any) -> None:
    for _, handler, *_ in jp_serverapp.web_app.settings["muster"].handlers:
        assert issubclass(handler, MusterHandler)
        assert issubclass(handler, JupyterHandler)


@pytest.mark.parametrize(("path", "method"), CASES)
async def test_without_credentials_nothing_passes(
    client: Client, path: str, method: str, places: Path
) -> None:
    for headers in (
        {},
        {"Authorization": "token wrong"},
        {"Authorization": "Bearer " + "0" * 64},
        {"Cookie": "username-127-0-0-1-1=forged"},
    ):
        assert await client.status(method, path, headers) == 403
    assert await client.status(method, path + "?token=wrong", {}) == 403
    assert processes_of(places) == [], "and no bridge is started for a stranger"


@pytest.mark.parametrize(("path", "method"), CASES)
async def test_the_token_passes(client: Client, path: str, method: str) -> None:
    headers = {"Authorization": f"token {client.token}"}
    if method not in ("GET", "HEAD") and "dashboards" in path:
        expected = 405  # the fake's dashboards only know GET
    else:
        expected = 202 if "restart" in path else 200
    got = await client.status(method, path, headers)
    assert got == expected or (method == "HEAD" and got == 405)


@pytest.mark.parametrize(("path", "method"), [case for case in CASES if case[1] not in ("HEAD",)])
async def test_a_cookie_needs_xsrf_for_everything_that_changes(
    client: Client, path: str, method: str
) -> None:
    bare = await client.status(method, path, await client.cookie(xsrf=False))
    signed = await client.status(method, path, await client.cookie(xsrf=True))
    assert bare == (403 if method != "GET" else 200)
    assert signed in (200, 202, 405)


@pytest.mark.parametrize(("path", "method"), CASES)
async def test_a_foreign_page_with_the_cookie_is_refused(
    client: Client, path: str, method: str
) -> None:
    """The browser sends the cookie along; Origin and Sec-Fetch-Site tell where it comes from."""
    cookie = await client.cookie(xsrf=True)
    for foreign in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://{client.host}.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        # 404 is Jupyter's own way to refuse another origin.
        assert await client.status(method, path, {**cookie, **foreign}) in (403, 404)
    if method == "GET":
        for own in (
            {"Origin": f"http://{client.host}"},
            {"Sec-Fetch-Site": "same-origin"},
            {"Sec-Fetch-Site": "none"},
        ):
            assert await client.status(method, path, {**cookie, **own}) == 200


async def test_a_foreign_host_name_is_refused(client: Client) -> None:
    """DNS rebinding: the browser believes that evil.example is this server."""
    headers = {"Authorization": f"token {client.token}", "Host": "evil.example:8888"}
    for path, method in CASES:
        assert await client.status(method, path, headers) == 403


@pytest.mark.parametrize("path", SOCKETS)
async def test_the_upgrade_is_gated_like_a_request(client: Client, path: str, places: Path) -> None:
    for headers in ({}, {"Authorization": "token wrong"}, {"Cookie": "username-x=forged"}):
        assert await client.upgrade(path, headers) == 403
    assert processes_of(places) == []
    cookie = await client.cookie(xsrf=False)
    for foreign in ("http://evil.example", "null"):
        assert await client.upgrade(path, {**cookie, "Origin": foreign}) == 403
    assert processes_of(places) == [], "refused before the bridge is dialled"
    assert await client.upgrade(path, {**cookie, "Origin": f"http://{client.host}"}) == 101
    assert await client.upgrade(path, {"Authorization": f"token {client.token}"}) == 101


async def test_an_authorizer_that_forbids_is_obeyed(
    client: Client, jp_serverapp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []

    def refuse(_handler: Any, _user: Any, action: str, resource: str) -> bool:
        asked.append((action, resource))
        return False

    monkeypatch.setattr(jp_serverapp.authorizer, "is_authorized", refuse)
    headers = {"Authorization": f"token {client.token}"}
    for path, method in CASES:
        assert await client.status(method, path, headers) == 403
    for path in SOCKETS:
        assert await client.upgrade(path, headers) == 403
    assert ("read", "muster") in asked
    assert ("write", "muster") in asked


async def test_neighbours_of_our_paths_are_not_ours(client: Client) -> None:
    headers = {"Authorization": f"token {client.token}"}
    for path in (
        "muster",
        "muster/api",
        "muster/api/v2/clusters",
        "muster/api/v1x/clusters",
        "muster/dashboardsx/k",
        "musterx/api/v1/clusters",
    ):
        assert await client.status("GET", path, headers) == 404


CHECK_AUTH = """
import warnings
from jupyter_server.serverapp import ServerApp
from jupyter_server.utils import JupyterServerAuthWarning
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    app = ServerApp()
    app.initialize(argv=[
        "--ServerApp.allow_unauthenticated_access=False",
        "--ServerApp.jpserver_extensions={'jupyterlab_muster': True}",
        "--allow-root", "--port=0",
    ], new_httpserver=False)
    assert "muster" in app.web_app.settings, "the extension was not loaded"
for warning in caught:
    if issubclass(warning.category, JupyterServerAuthWarning) and "muster" in str(warning.message):
        print(warning.message)
"""


def test_jupyter_finds_no_route_of_ours_without_authentication(
    places: Path, tmp_path: Path
) -> None:
    """The template's check_auth: terminals and lsp warn too, which is not our affair."""
    environ = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(tmp_path),
        "JUPYTER_RUNTIME_DIR": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", CHECK_AUTH], capture_output=True, text=True, env=environ
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
