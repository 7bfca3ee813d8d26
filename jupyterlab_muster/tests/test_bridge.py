"""Finding and starting the bridge (specs/jupyterlab-extension.md §9)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jupyterlab_muster.bridge import (
    BridgeSettings,
    StartCancelled,
    find,
    find_or_start,
    is_alive,
    shut_down,
)
from jupyterlab_muster.errors import BridgeUnavailable
from jupyterlab_muster.launch import LOG_LIMIT, rotate_log
from jupyterlab_muster.record import BridgeAbsent, ask, read_record

from .conftest import eventually, processes_of

Settings = Callable[..., BridgeSettings]


def starts(places: Path) -> list[dict]:
    path = places / "run" / "starts"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_the_first_call_starts_a_bridge_and_the_second_finds_it(
    settings: Settings, places: Path
) -> None:
    first = find_or_start(settings())
    second = find_or_start(settings())
    assert first.started
    assert not second.started
    assert first.hello.pid == second.hello.pid
    assert processes_of(places) == [first.hello.pid]


def test_the_bridge_is_detached(settings: Settings, places: Path) -> None:
    pid = find_or_start(settings()).hello.pid
    assert os.getsid(pid) == pid, "a session of its own: no terminal, no shared group"
    parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    assert parent != os.getpid(), "not our child: whatever ends our tree spares it"
    descriptors = {
        str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir() if entry.name in "012"
    }
    assert descriptors == {"/dev/null", str(places / "run" / "bridge.log")}
    assert starts(places)[0]["cwd"] == str(Path.home())


def test_no_token_reaches_the_bridge(
    settings: Settings, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary = "canary-5c1e"
    names = ["JUPYTER_TOKEN", "JUPYTERHUB_API_TOKEN", "JPY_API_TOKEN", "JPY_SESSION_NAME"]
    for name in names:
        monkeypatch.setenv(name, canary)
    monkeypatch.setenv("JUPYTER_PATH", "/opt/kernels")
    pid = find_or_start(settings()).hello.pid
    started = starts(places)[0]
    assert canary not in json.dumps(started)
    assert canary.encode() not in Path(f"/proc/{pid}/environ").read_bytes()
    assert started["env"]["JUPYTER_PATH"] == "/opt/kernels"
    record = read_record(places / "run")
    assert record.secret not in json.dumps(started)


def test_eight_callers_at_once_share_one_bridge(settings: Settings, places: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: find_or_start(settings()), range(8)))
    assert len({bridge.hello.pid for bridge in found}) == 1
    eventually(lambda: processes_of(places) == [found[0].hello.pid])


def test_a_killed_bridge_is_absent_and_the_next_call_starts_another(
    settings: Settings, places: Path
) -> None:
    for _ in range(5):
        found = find_or_start(settings())
        os.kill(found.hello.pid, signal.SIGKILL)
        eventually(lambda pid=found.hello.pid: not is_alive(pid))
        with pytest.raises(BridgeAbsent):
            find(settings())
    assert find_or_start(settings()).started
    assert len(processes_of(places)) == 1


def test_a_bridge_that_exits_0_is_started_again(settings: Settings) -> None:
    found = find_or_start(settings())
    shut_down(found)
    assert not is_alive(found.hello.pid)
    assert find_or_start(settings()).hello.pid != found.hello.pid


def test_a_bridge_that_fails_says_its_last_words(settings: Settings, places: Path) -> None:
    (places / "run").mkdir(mode=0o700, parents=True)
    (places / "run" / "bridge.log").write_text("words of the day before\n")
    with pytest.raises(BridgeUnavailable) as caught:
        find_or_start(settings(exit=3))
    details = caught.value.details
    assert details["exit"] == 3
    assert details["log"] == "the disk is on fire", "only of this start"
    assert caught.value.status == 503


def test_a_start_that_gives_no_sign_of_life_is_ended_with_its_group(
    settings: Settings, places: Path
) -> None:
    with pytest.raises(BridgeUnavailable, match="did not answer within 1 s"):
        find_or_start(settings(start_timeout=1.0, slow=600))
    eventually(lambda: not processes_of(places))


def test_a_slow_start_is_waited_for(settings: Settings) -> None:
    calls: list[int] = []
    found = find_or_start(settings(slow=1.5), on_start=lambda: calls.append(1))
    assert found.started
    assert calls


def test_a_bridge_that_loads_its_records_is_not_given_up(settings: Settings) -> None:
    """It answers "bridge-starting": that is a sign of life, past the start timeout."""
    assert find_or_start(settings(start_timeout=1.0, recovery=3)).started


def test_waiting_can_be_cancelled_and_the_bridge_still_comes(
    settings: Settings, places: Path
) -> None:
    cancelled = threading.Event()
    threading.Timer(0.5, cancelled.set).start()
    with pytest.raises(StartCancelled):
        find_or_start(settings(slow=1.5), cancelled=cancelled)
    eventually(lambda: _answers(settings))


def _answers(settings: Settings) -> bool:
    try:
        return bool(find(settings()))
    except BridgeAbsent:
        return False


def test_an_older_bridge_without_clusters_is_replaced(settings: Settings, places: Path) -> None:
    old = find_or_start(settings(version="0.1.0"))
    new = _with_version("0.2.0", lambda: find_or_start(settings(version="0.2.0")))
    assert new.hello.pid != old.hello.pid
    assert new.hello.version == "0.2.0"
    eventually(lambda: processes_of(places) == [new.hello.pid])


def test_an_older_bridge_with_clusters_stays_while_the_protocol_is_the_same(
    settings: Settings,
) -> None:
    old = find_or_start(settings(version="0.1.0", clusters=2))
    again = _with_version("0.2.0", lambda: find_or_start(settings()))
    assert again.hello.pid == old.hello.pid


def _with_version(version: str, work: Callable):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jupyterlab_muster.bridge.VERSION", version)
        return work()


def _start_as_protocol(settings: Settings, protocol: int, **fake: object) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jupyterlab_muster.bridge.PROTOCOL", protocol)
        find_or_start(settings(protocol=protocol, **fake))


def test_an_older_protocol_with_clusters_blocks_until_it_is_replaced(settings: Settings) -> None:
    _start_as_protocol(settings, 0, clusters=2, version="0.0.9")
    with pytest.raises(BridgeUnavailable) as caught:
        find_or_start(settings())
    assert caught.value.details["kind"] == "older-bridge"
    assert caught.value.details["clusters"] == 2
    assert find_or_start(settings(), replace=True).hello.protocol == 1


def test_a_newer_protocol_is_never_replaced(settings: Settings) -> None:
    _start_as_protocol(settings, 2, version="9.0.0")
    with pytest.raises(BridgeUnavailable, match="upgrade") as caught:
        find_or_start(settings(), replace=True)
    assert caught.value.details["kind"] == "newer-bridge"


def test_a_bridge_that_does_not_go_is_named(settings: Settings) -> None:
    found = find_or_start(settings(stubborn=1))
    with pytest.raises(BridgeUnavailable, match=f"process {found.hello.pid}"):
        shut_down(found, timeout=0.5)


def test_something_else_at_the_socket_is_no_bridge(settings: Settings, places: Path) -> None:
    found = find_or_start(settings())
    record = places / "run" / "bridge.json"
    wrong = {**json.loads(record.read_text()), "secret": "0" * 64}
    record.write_text(json.dumps(wrong))
    with pytest.raises(BridgeAbsent, match="does not know the secret"):
        find(settings())
    assert ask(found.record, "GET", "api/v1/health")[0] == 200


def test_a_stopped_bridge_is_given_a_successor_that_decides(
    settings: Settings, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds its lock: the new one exits, and the error says what was found."""
    monkeypatch.setattr("jupyterlab_muster.bridge.PATIENCE", 0.2)
    monkeypatch.setattr("jupyterlab_muster.bridge.find.__defaults__", (0.3,))
    found = find_or_start(settings())
    os.kill(found.hello.pid, signal.SIGSTOP)
    try:
        with pytest.raises(BridgeUnavailable, match="no answer within"):
            find_or_start(settings(start_timeout=1.5))
        assert is_alive(found.hello.pid), "nobody kills on a guess"
        assert len(starts(places)) == 2
    finally:
        os.kill(found.hello.pid, signal.SIGCONT)
    assert find_or_start(settings()).hello.pid == found.hello.pid


def test_the_log_is_moved_aside_when_it_has_grown(settings: Settings, places: Path) -> None:
    log = places / "run" / "bridge.log"
    find_or_start(settings())
    with log.open("ab") as file:
        file.write(b"a" * (LOG_LIMIT + 1))
    rotate_log(log)
    assert log.stat().st_size == 0
    kept = log.with_name("bridge.log.1")
    assert kept.stat().st_size == LOG_LIMIT + 1
    assert kept.stat().st_mode & 0o777 == 0o600
    assert log.stat().st_mode & 0o777 == 0o600


def test_the_starter_of_the_command_prints_one_line_of_json(
    settings: Settings, places: Path
) -> None:
    found = find_or_start(settings())
    done = subprocess.run(
        [sys.executable, "-m", "jupyterlab_muster.bridge", "start", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout)
    assert answer["pid"] == found.hello.pid
    assert answer["socket"] == str(places / "run" / "bridge.sock")


def test_the_starter_prints_the_error_body_when_node_is_missing(places: Path) -> None:
    environ = {**os.environ, "MUSTER_NODE": "/nowhere/node"}
    done = subprocess.run(
        [sys.executable, "-m", "jupyterlab_muster.bridge", "start", "--json"],
        capture_output=True,
        text=True,
        env=environ,
    )
    assert done.returncode == 1
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "bridge-unavailable"
    assert error["details"]["tried"] == ["MUSTER_NODE: /nowhere/node: no such file or directory"]
