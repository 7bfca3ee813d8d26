"""The pool program as it runs: started, spoken to, killed. Without Dask, processes are exec'ed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyterlab_muster import pool as pool_module

PROGRAM = Path(pool_module.__file__)
SLEEP = "import time\nwhile True: time.sleep(1)"


def until(condition: Callable[[], Any], seconds: float = 30) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError("it never came true")


class Line:
    """One connection to a pool."""

    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(path)
        self.file = self.socket.makefile("rwb")
        self.number = 0
        self.events: list[dict[str, Any]] = []

    def read(self) -> dict[str, Any]:
        line = self.file.readline()
        if not line:
            raise ConnectionError("closed")
        message: dict[str, Any] = json.loads(line)
        return message

    def ask(self, op: str, **more: Any) -> dict[str, Any]:
        self.number += 1
        self.file.write(json.dumps({"n": self.number, "op": op, **more}).encode() + b"\n")
        self.file.flush()
        while True:
            message = self.read()
            if "event" in message:
                self.events.append(message)
            else:
                assert message["re"] == self.number
                return message

    def close(self) -> None:
        self.file.close()
        self.socket.close()


class World:
    def __init__(self, folder: Path) -> None:
        folder.chmod(0o700)
        self.folder = folder
        self.pools: list[subprocess.Popen[bytes]] = []
        self.lines: list[Line] = []

    def start(self, *options: str, folder: Path | None = None) -> dict[str, Any]:
        """The first word of a new pool."""
        read, write = os.pipe()
        process = subprocess.Popen(
            [
                sys.executable,
                str(PROGRAM),
                "--folder",
                str(folder or self.folder),
                "--ready-descriptor",
                str(write),
                *(options or ("--force-exec",)),
            ],
            pass_fds=[write],
            # Read once by the libraries: without them there is more than one thread.
            env={
                **os.environ,
                "OMP_NUM_THREADS": "1",
                "OPENBLAS_NUM_THREADS": "1",
                "MKL_NUM_THREADS": "1",
                "JE_ARROW_MALLOC_CONF": "background_thread:false",
            },
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.pools.append(process)
        os.close(write)
        with os.fdopen(read) as file:
            ready: dict[str, Any] = json.loads(file.read())
        return ready

    def line(self, path: str | None = None) -> Line:
        line = Line(path or str(self.folder / "socket"))
        self.lines.append(line)
        return line

    def launch(self, name: str, code: str = SLEEP, **more: Any) -> dict[str, Any]:
        return {
            "id": name,
            "attempt": 1,
            "token": f"token-{name}",
            "argv": [sys.executable, "-c", code],
            "environment": {"PATH": os.environ["PATH"]},
            "stdout": str(self.folder / f"{name}.out"),
            "stderr": str(self.folder / f"{name}.err"),
            "cwd": str(self.folder),
            "limit": None,
            **more,
        }

    def journal(self) -> list[dict[str, Any]]:
        return pool_module.Journal(self.folder / "journal.jsonl").read()

    def close(self) -> None:
        for line in self.lines:
            line.close()
        look = pool_module.inspection("auto")
        for entry in self.journal():
            if look.start_time(entry["pid"]) == entry["startTime"]:
                os.kill(entry["pid"], signal.SIGKILL)
        for process in self.pools:
            process.kill()
            process.wait()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def state_of(line: Line, name: str) -> dict[str, Any]:
    found: dict[str, Any] = line.ask("list", ids=[name])["processes"][0]
    return found


def alive(process: dict[str, Any]) -> bool:
    return pool_module.inspection("auto").start_time(process["pid"]) == process["startTime"]


def test_a_launch_asked_for_twice_is_started_once(world: World) -> None:
    world.start()
    launch = world.launch("a")
    first = world.line().ask("start", launches=[launch])["results"][0]
    second = world.line().ask("start", launches=[launch])["results"][0]
    assert (first["existing"], second["existing"]) == (False, True)
    assert first["process"]["pid"] == second["process"]["pid"]
    again = world.line().ask("start", launches=[{**launch, "attempt": 2}])["results"][0]
    assert again["existing"] is False
    assert again["process"]["pid"] != first["process"]["pid"]


def test_a_start_is_in_the_journal_before_the_process_does_anything(world: World) -> None:
    world.start()
    code = f"print(open({str(world.folder / 'journal.jsonl')!r}).read())"
    world.line().ask("start", launches=[world.launch("a", code)])
    out = world.folder / "a.out"
    until(lambda: out.exists() and out.read_text().strip())
    entry = json.loads(out.read_text().splitlines()[0])
    assert (entry["type"], entry["id"], entry["token"]) == ("start", "a", "token-a")


def test_a_process_does_not_run_when_its_start_could_not_be_recorded(world: World) -> None:
    world.start()
    (world.folder / "journal.jsonl").mkdir()  # Nothing can be appended to it.
    mark = world.folder / "ran"
    reply = world.line().ask("start", launches=[world.launch("a", f"open({str(mark)!r}, 'w')")])
    assert (reply["ok"], reply["code"]) == (False, "journal")
    assert world.line().ask("list")["processes"] == []
    (world.folder / "journal.jsonl").rmdir()
    world.line().ask("start", launches=[world.launch("b", "pass")])
    until(lambda: state_of(world.line(), "b")["state"] == "ended")
    assert not mark.exists()


def test_exits_are_told_and_outlive_the_pool(world: World) -> None:
    world.start()
    line = world.line()
    line.ask("subscribe")
    launches = [world.launch("a", "import sys; sys.exit(3)"), world.launch("b")]
    started = line.ask("start", launches=launches)["results"]
    os.kill(started[1]["process"]["pid"], signal.SIGKILL)
    ended: dict[str, Any] = {}
    while len(ended) < 2:
        event = line.events.pop(0) if line.events else line.read()
        ended[event["process"]["id"]] = event["process"]
    assert (ended["a"]["code"], ended["a"]["signal"]) == (3, None)
    assert (ended["b"]["code"], ended["b"]["signal"]) == (None, "SIGKILL")
    world.pools[0].kill()
    world.pools[0].wait()
    exits = {entry["id"]: entry for entry in world.journal() if entry["type"] == "exit"}
    assert exits["a"]["code"] == 3
    assert exits["b"]["signal"] == "SIGKILL"


def test_the_next_pool_takes_over_what_a_killed_one_left(world: World) -> None:
    world.start()
    started = world.line().ask("start", launches=[world.launch("a"), world.launch("b")])
    a, b = (result["process"] for result in started["results"])
    world.pools[0].kill()
    world.pools[0].wait()
    assert alive(a)
    assert alive(b)
    os.kill(b["pid"], signal.SIGKILL)
    world.start()
    line = world.line()
    assert state_of(line, "a")["state"] == "running"
    until(lambda: state_of(line, "b")["state"] == "ended")
    assert state_of(line, "b")["code"] is None  # Nobody read it.
    repeated = line.ask("start", launches=[world.launch("a")])["results"][0]
    assert repeated["existing"] is True
    assert repeated["process"]["pid"] == a["pid"]


def test_a_torn_journal_line_spoils_only_itself(world: World) -> None:
    journal = world.folder / "journal.jsonl"
    journal.write_text('{"type":"start","id":"x","at')
    world.start()
    world.line().ask("start", launches=[world.launch("a")])
    assert [entry["id"] for entry in world.journal()] == ["a"]


def test_one_pool_owns_a_folder(world: World) -> None:
    assert world.start()["ok"] is True
    second = world.start()
    assert (second["ok"], second["code"]) == (False, "busy")
    assert world.line().ask("ping")["ok"] is True


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_folder_open_to_others_is_refused_with_the_fix(world: World, mode: int) -> None:
    world.folder.chmod(mode)
    ready = world.start()
    world.folder.chmod(0o700)
    assert ready["ok"] is False
    assert "chmod 700" in ready["error"]


def test_a_link_in_place_of_the_folder_is_refused(world: World, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir(mode=0o700)
    link = tmp_path / "link"
    link.symlink_to(target)
    assert world.start(folder=link)["ok"] is False
    assert list(target.iterdir()) == []


def test_nothing_the_pool_makes_is_open_to_others(world: World) -> None:
    before = os.umask(0)
    try:
        world.start()
        world.line().ask("start", launches=[world.launch("a", "open('made', 'w')")])
        until(lambda: (world.folder / "made").exists())
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o077 for path in world.folder.iterdir()}
    assert {"socket", "journal.jsonl", "pool.json", "a.out", "a.err", "made"} <= set(modes)
    assert set(modes.values()) == {0}


def test_what_a_process_writes_has_the_mode_its_user_wants(world: World) -> None:
    world.start()
    launch = world.launch("a", "open('made', 'w')", umask=0o022)
    world.line().ask("start", launches=[launch])
    until(lambda: (world.folder / "made").exists())
    assert (world.folder / "made").stat().st_mode & 0o777 == 0o644
    assert (world.folder / "a.out").stat().st_mode & 0o777 == 0o600


def test_a_log_is_not_written_through_a_link(world: World) -> None:
    world.start()
    target = world.folder / "precious"
    target.write_text("as it was")
    (world.folder / "a.out").symlink_to(target)
    result = world.line().ask("start", launches=[world.launch("a", "print('bad')")])["results"][0]
    assert "error" in result
    assert target.read_text() == "as it was"


def test_a_socket_path_that_is_too_long_moves_to_the_fallback(world: World) -> None:
    deep = world.folder / ("d" * 100)
    deep.mkdir(mode=0o700)
    fallback = world.folder / "s"
    ready = world.start("--force-exec", "--fallback-socket", str(fallback), folder=deep)
    assert ready == {"ok": True, "socket": str(fallback)}
    assert json.loads((deep / "pool.json").read_text())["socket"] == str(fallback)
    assert world.line(str(fallback)).ask("ping")["ok"] is True


def test_without_any_place_for_a_socket_it_says_so(world: World) -> None:
    deep = world.folder / ("d" * 100)
    deep.mkdir(mode=0o700)
    ready = world.start("--force-exec", folder=deep)
    assert (ready["ok"], ready["code"]) == (False, "no-socket")


def test_a_removed_socket_comes_back(world: World) -> None:
    world.start()
    line = world.line()
    (world.folder / "socket").unlink()
    until(lambda: (world.folder / "socket").exists())
    assert world.line().ask("ping")["ok"] is True
    assert line.ask("ping")["ok"] is True


def test_terminate_is_exact(world: World) -> None:
    world.start()
    line = world.line()
    started = line.ask("start", launches=[world.launch("a"), world.launch("b")])["results"]
    a, b = (result["process"] for result in started)
    wrong = {"id": "a", "pid": a["pid"], "startTime": "1", "graceSeconds": 0}
    assert line.ask("terminate", **wrong)["known"] is False
    other = {"id": "a", "pid": b["pid"], "startTime": b["startTime"], "graceSeconds": 0}
    assert line.ask("terminate", **other)["known"] is False
    exact = {"id": "a", "pid": a["pid"], "startTime": a["startTime"], "graceSeconds": 5}
    assert line.ask("terminate", **exact)["known"] is True
    until(lambda: state_of(line, "a")["state"] == "ended")
    assert state_of(line, "a")["requested"] is True
    assert alive(b)


def test_what_does_not_obey_is_killed_after_the_grace(world: World) -> None:
    world.start()
    line = world.line()
    code = (
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"print('up', flush=True)\n{SLEEP}"
    )
    a = line.ask("start", launches=[world.launch("a", code)])["results"][0]["process"]
    until(lambda: (world.folder / "a.out").read_text() == "up\n")
    asked = {"id": "a", "pid": a["pid"], "startTime": a["startTime"], "graceSeconds": 0.3}
    assert line.ask("terminate", **asked)["process"]["state"] == "stopping"
    until(lambda: state_of(line, "a")["state"] == "ended")
    assert state_of(line, "a")["signal"] == "SIGKILL"


def test_memory_above_the_limit_ends_a_process_that_ignores_the_first_signal(
    world: World,
) -> None:
    world.start()
    line = world.line()
    code = (
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"kept = bytearray(b'x') * 200_000_000\n{SLEEP}"
    )
    limit = 150_000_000
    launches = [world.launch("a", code, limit=limit), world.launch("b", limit=limit)]
    line.ask("start", launches=launches)
    until(lambda: state_of(line, "a")["state"] == "ended")
    ended = state_of(line, "a")
    assert ended["signal"] == "SIGKILL"
    assert ended["cause"]["type"] == "memory-limit"
    assert ended["cause"]["limit"] == limit
    assert ended["cause"]["rss"] > 0.95 * limit
    assert state_of(line, "b")["state"] == "running"


def test_the_limit_of_a_wrapped_program_is_for_what_the_shell_started(world: World) -> None:
    world.start()
    line = world.line()
    code = f"kept = bytearray(b'x') * 200_000_000\n{SLEEP}"
    launch = world.launch("a", limit=150_000_000, wrapped=True)
    launch["argv"] = ["/bin/sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-c", code]
    line.ask("start", launches=[launch])
    until(lambda: state_of(line, "a")["state"] == "ended")
    assert state_of(line, "a")["cause"]["type"] == "memory-limit"


def test_asked_to_end_it_stays_for_what_runs_and_starts_nothing_more(world: World) -> None:
    world.start()
    line = world.line()
    a = line.ask("start", launches=[world.launch("a")])["results"][0]["process"]
    world.pools[0].terminate()
    until(lambda: line.ask("hello")["draining"])
    refused = line.ask("start", launches=[world.launch("b")])
    assert (refused["ok"], refused["code"]) == (False, "draining")
    assert alive(a)
    os.kill(a["pid"], signal.SIGKILL)
    assert world.pools[0].wait(30) == 0
    assert [entry["signal"] for entry in world.journal() if entry["type"] == "exit"] == ["SIGKILL"]
    assert not (world.folder / "socket").exists()


def test_asked_twice_it_ends_at_once_and_still_leaves_what_runs(world: World) -> None:
    world.start()
    line = world.line()
    a = line.ask("start", launches=[world.launch("a")])["results"][0]["process"]
    world.pools[0].terminate()
    until(lambda: line.ask("hello")["draining"])
    world.pools[0].terminate()
    assert world.pools[0].wait(30) == 0
    assert alive(a)


def test_shutdown_ends_it_when_nothing_runs(world: World) -> None:
    world.start()
    assert world.line().ask("shutdown")["running"] == 0
    assert world.pools[0].wait(30) == 0
    assert not (world.folder / "pool.json").exists()


def test_without_bridge_and_children_it_ends_by_itself(world: World) -> None:
    world.start("--force-exec", "--idle-seconds", "0.3")
    line = world.line()
    time.sleep(0.8)
    assert world.pools[0].poll() is None
    line.ask("start", launches=[world.launch("a", "import time; time.sleep(1)")])
    line.close()
    world.lines.remove(line)
    time.sleep(0.5)
    assert world.pools[0].poll() is None
    assert world.pools[0].wait(30) == 0


def test_a_pool_without_a_cluster_moves_into_one(world: World, tmp_path: Path) -> None:
    standby = tmp_path / "standby"
    standby.mkdir(mode=0o700)
    cluster = tmp_path / "cluster"
    cluster.mkdir(mode=0o700)
    world.start("--force-exec", "--standby", folder=standby)
    line = world.line(str(standby / "socket"))
    refused = line.ask("start", launches=[world.launch("a")])
    assert (refused["ok"], refused["code"]) == (False, "unassigned")
    assigned = line.ask("assign", folder=str(cluster))
    assert assigned["socket"] == str(cluster / "socket")
    assert not standby.exists()
    late = line.ask("assign", folder=str(cluster))
    assert (late["ok"], late["code"]) == (False, "assigned")
    moved = world.line(str(cluster / "socket"))
    moved.ask("start", launches=[world.launch("a", "pass")])
    until(lambda: state_of(moved, "a")["state"] == "ended")
    entries = pool_module.Journal(cluster / "journal.jsonl").read()
    assert [entry["type"] for entry in entries] == ["start", "exit"]


def test_a_pool_nobody_takes_ends_and_leaves_nothing(world: World, tmp_path: Path) -> None:
    standby = tmp_path / "standby"
    standby.mkdir(mode=0o700)
    world.start("--force-exec", "--standby", "--unassigned-seconds", "0.2", folder=standby)
    assert world.pools[0].wait(30) == 0
    assert not standby.exists()


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b"{}",
        b"[]",
        b'{"n": 1, "op": "explode"}',
        b'{"n": 1, "op": "start", "launches": [{}]}',
        b'{"n": 1, "op": "start", "launches": 3}',
        b'{"n": 1, "op": "terminate"}',
        b'{"n": 1, "op": "list", "ids": 3}',
        b'{"n": 1, "op": "__init__"}',
        b'{"n": 1, "op": "kill", "id": "a", "pid": 1, "startTime": "1", "signal": "NOPE"}',
        b"\xff\xfe",
    ],
)
def test_a_request_it_does_not_understand_is_refused_and_harms_nobody(
    world: World, line: bytes
) -> None:
    world.start()
    client = world.line()
    client.file.write(line + b"\n")
    client.file.flush()
    assert client.read()["ok"] is False
    assert client.ask("ping")["ok"] is True


@pytest.mark.parametrize(
    "more",
    [
        {"argv": []},
        {"argv": ["a\0b"]},
        {"environment": {"A=B": "c"}},
        {"environment": {"A": 3}},
        {"limit": -1},
        {"attempt": "1"},
    ],
)
def test_a_launch_that_makes_no_sense_starts_nothing(world: World, more: dict[str, Any]) -> None:
    world.start()
    line = world.line()
    assert line.ask("start", launches=[world.launch("a", **more)])["code"] == "bad-request"
    assert line.ask("list")["processes"] == []


def test_one_that_cannot_start_does_not_keep_the_others(world: World) -> None:
    world.start()
    bad = world.launch("bad", cwd=str(world.folder / "nowhere"))
    results = world.line().ask("start", launches=[world.launch("a"), bad, world.launch("b")])
    first, second, third = results["results"]
    assert "error" in second
    assert alive(first["process"])
    assert alive(third["process"])


def test_the_journal_stays_small_and_keeps_what_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setattr(pool_module, "JOURNAL_LIMIT", 20_000)
    monkeypatch.setattr(pool_module, "ENDED_KEPT", 10)
    options = pool_module.parse_options(["--folder", str(tmp_path), "--force-exec"])
    pool = pool_module.Pool(options)

    def process(number: int) -> pool_module.Process:
        return pool_module.Process(
            id=f"p{number}",
            attempt=1,
            token="t",
            pid=os.getpid(),
            start_time=pool.start_time,
            mode="exec",
            limit=None,
            wrapped=False,
            started=pool_module.now(),
        )

    stays = process(0)
    pool.processes[stays.key] = stays
    pool.write_journal([stays.start_entry(pool.boot_id)])
    for number in range(1, 500):
        one = process(number)
        pool.processes[one.key] = one
        pool.write_journal([one.start_entry(pool.boot_id)])
        pool.settle([one])
    pool.selector.close()
    assert pool.journal.size() < 30_000
    entries = pool.journal.read()
    assert entries[0]["id"] == "p0"
    assert entries[-1]["id"] == "p499"
    assert entries[-1]["type"] == "exit"


def test_proportional_memory_is_read_only_near_the_limit() -> None:
    class Look(pool_module.ProcInspection):
        walks = 0
        used = 0

        def rss(self, _pid: int) -> int | None:
            return self.used

        def pss(self, _pid: int) -> int | None:
            self.walks += 1
            return self.used // 2

    look = Look()
    pool = pool_module.Pool.__new__(pool_module.Pool)
    pool.inspect = look
    process = pool_module.Process("a", 1, "t", 2, "3", "fork", 1000, False, "")
    look.used = 900
    assert (pool.memory_of(process), look.walks) == (900, 0)
    look.used = 960
    assert (pool.memory_of(process), look.walks) == (480, 1)


def test_ps_and_proc_agree_about_this_process() -> None:
    proc, ps = pool_module.ProcInspection(), pool_module.PsInspection()
    assert proc.boot_id() == ps.boot_id()
    assert ps.threads() == proc.threads()
    ticks = proc.start_time(os.getpid())
    seconds = ps.start_time(os.getpid())
    assert ticks is not None
    assert seconds is not None
    boot = next(
        int(line.split()[1])
        for line in Path("/proc/stat").read_text().splitlines()
        if line.startswith("btime")
    )
    assert abs(boot + int(ticks) / os.sysconf("SC_CLK_TCK") - int(seconds)) <= 2
    rss, other = proc.rss(os.getpid()), ps.rss(os.getpid())
    assert rss is not None
    assert other is not None
    assert abs(rss - other) < 20_000_000


def test_a_zombie_is_dead() -> None:
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    proc, ps = pool_module.ProcInspection(), pool_module.PsInspection()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert proc.start_time(child.pid) is None
    assert ps.start_time(child.pid) is None
    child.wait()


def test_a_forked_child_has_its_own_files_signals_and_luck(world: World) -> None:
    pytest.importorskip("distributed")
    ready = world.start("--idle-seconds", "60")
    assert ready["ok"] is True
    line = world.line()
    hello = line.ask("hello")
    if not hello["forks"]:
        pytest.skip(str(hello["whyNot"]))
    assert hello["threads"] == 1
    arguments = ["-m", "distributed.cli.dask_scheduler", "--version"]
    bad = ["-m", "distributed.cli.dask_scheduler", "--no-such-option"]
    launches = [
        {**world.launch("version"), "argv": [sys.executable, *arguments]},
        {**world.launch("bad"), "argv": [sys.executable, *bad]},
    ]
    started = line.ask("start", launches=launches)["results"]
    assert [result["process"]["mode"] for result in started] == ["fork", "fork"]
    for name, code in (("version", 0), ("bad", 2)):
        until(lambda name=name: state_of(line, name)["state"] == "ended")  # type: ignore[misc]
        assert state_of(line, name)["code"] == code
    import distributed

    assert distributed.__version__ in (world.folder / "version.out").read_text()
    assert "no-such-option" in (world.folder / "bad.err").read_text()
