# ruff: noqa: T201  (the standard output of this program is the pool's own log)
"""The warm worker pool: a process that has imported Dask once and forks workers from itself.

One pool belongs to one (cluster, interpreter, environment variables, host). It runs detached from
the bridge, in a session of its own, and is spoken to by JSON lines over a private unix socket. It
goes on without the bridge: it enforces memory limits, reaps its children and writes each exit to a
journal. It never ends a child by dying.

This file is one program text: the bridge writes it into the cluster's folder and runs it there
with the user's interpreter, so it imports the standard library only (and, for the children, what
that interpreter has of Dask). That is why it is one file.

Rules followed here, each learned from a defect (specs/dask-wire-protocol.md 6.3): nothing runs an
event loop or a thread before a fork; exactly one thread of the operating system is verified before
forking, otherwise processes are started by exec; variables that are read once are set when the
pool starts; children get their own random state, session, signal handlers and descriptors.

Protocol: one JSON object per line. Request ``{"n": 1, "op": …}``, reply ``{"re": 1, "ok": true,
…}`` or ``{"re": 1, "ok": false, "error": "…", "code": "…"}``; events, after ``subscribe``, are
``{"event": "exit", "process": {…}}``.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import fcntl
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NoReturn

PROTOCOL = 1
#: Linux refuses longer addresses (108 with the NUL); macOS 104.
LONGEST_SOCKET_PATH = 100
LONGEST_LINE = 8 * 1024 * 1024
LONGEST_BACKLOG = 16 * 1024 * 1024
#: As distributed's nanny: every 100 ms, above 95 %.
MEMORY_TICK = 0.1
MEMORY_FRACTION = 0.95
ORPHAN_TICK = 1.0
HOUSEKEEPING_TICK = 5.0
ENDED_KEPT = 2000
JOURNAL_LIMIT = 4 * 1024 * 1024
#: Modules whose click ``main`` can run in a forked child.
CLICK_MODULES = {
    "distributed.cli.dask_worker": "dask worker",
    "distributed.cli.dask_scheduler": "dask scheduler",
}
NEEDED = ("distributed.cli.dask_worker", "distributed.cli.dask_scheduler")
HELPFUL = (
    "distributed.worker",
    "distributed.scheduler",
    "distributed.shuffle",
    "distributed.dashboard.scheduler",
    "bokeh.server.server",
    "numpy",
    # Lazy in numpy 2, and asked for by every child to be seeded anew.
    "numpy.random",
    "tornado.platform.asyncio",
    "dask.distributed",
    "lz4",
)
STANDBY_FILES = (
    "socket",
    "pool.json",
    "config.json",
    "pool.py",
    "pool.log",
    "journal.jsonl",
    "lock",
)
#: Waits until its start is in the journal, then becomes the program; the pid stays the same.
EXEC_GATE = 'read -r go || exit 70; exec "$@" </dev/null'


class PoolError(Exception):
    """A request that cannot be done; ``code`` is for programs, the text for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


# ---------------------------------------------------------------------------------------------
# Looking at processes


class ProcInspection:
    """What Linux' /proc says."""

    name = "proc"

    def boot_id(self) -> str:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()

    def start_time(self, pid: int) -> str | None:
        """Clock ticks since boot, or None when there is no such living process."""
        try:
            text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        except OSError:
            return None
        fields = text[text.rindex(")") + 2 :].split()
        if fields[0] in "ZX":
            return None
        return fields[19]

    def same(self, left: str | None, right: str) -> bool:
        return left == right

    def rss(self, pid: int) -> int | None:
        try:
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except (OSError, IndexError, ValueError):
            return None
        return pages * os.sysconf("SC_PAGE_SIZE")

    def pss(self, pid: int) -> int | None:
        """Shared pages counted by their share: what the process really costs."""
        try:
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
        except (OSError, IndexError, ValueError):
            pass
        return None

    def children(self, pid: int) -> list[int]:
        try:
            text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        except OSError:
            return []
        return [int(part) for part in text.split()]

    def threads(self) -> int:
        return sum(1 for _ in Path("/proc/self/task").iterdir())

    def oom_kills(self) -> int:
        """Processes the kernel has ended for want of memory since boot."""
        try:
            for line in Path("/proc/vmstat").read_text().splitlines():
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
        except (OSError, ValueError):
            pass
        return 0


class PsInspection:
    """The same from ``ps``: macOS, the BSDs, and Linux without /proc."""

    name = "ps"

    def _ps(self, *arguments: str) -> list[str]:
        environment = {"PATH": "/bin:/usr/bin:/sbin:/usr/sbin", "LC_ALL": "C", "TZ": "UTC"}
        try:
            done = subprocess.run(
                ["ps", *arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=10,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return []
        return done.stdout.decode("utf-8", "replace").splitlines()

    def boot_id(self) -> str:
        linux = Path("/proc/sys/kernel/random/boot_id")
        if linux.exists():
            return linux.read_text().strip()
        for name in ("kern.bootsessionuuid", "kern.boottime"):
            try:
                done = subprocess.run(
                    ["/usr/sbin/sysctl", "-n", name],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    timeout=10,
                    check=False,
                )
            except (OSError, subprocess.TimeoutExpired):
                continue
            text = done.stdout.decode("utf-8", "replace").strip()
            if text:
                return text.split("}")[0]
        return "unknown"

    def start_time(self, pid: int) -> str | None:
        """Seconds since 1970, or None when there is no such living process."""
        for line in self._ps("-o", "stat=,lstart=", "-p", str(pid)):
            state, _, started = line.strip().partition(" ")
            if state.startswith("Z"):
                return None
            try:
                parsed = datetime.strptime(" ".join(started.split()), "%a %b %d %H:%M:%S %Y")
            except ValueError:
                return None
            return str(int(parsed.replace(tzinfo=timezone.utc).timestamp()))
        return None

    def same(self, left: str | None, right: str) -> bool:
        """``ps`` reckons from the boot time, which a corrected clock moves by a second."""
        if left is None:
            return False
        try:
            return abs(int(left) - int(right)) <= 2
        except ValueError:
            return False

    def rss(self, pid: int) -> int | None:
        for line in self._ps("-o", "rss=", "-p", str(pid)):
            if line.strip().isdigit():
                return int(line) * 1024
        return None

    def pss(self, _pid: int) -> int | None:
        return None

    def children(self, pid: int) -> list[int]:
        found = []
        for line in self._ps("-A", "-o", "pid=,ppid="):
            parts = line.split()
            if len(parts) == 2 and parts[1] == str(pid):
                found.append(int(parts[0]))
        return found

    def threads(self) -> int:
        if sys.platform == "darwin":
            # One line of heading, one for each thread.
            return max(1, len(self._ps("-M", "-p", str(os.getpid()))) - 1)
        return max(1, len(self._ps("-L", "-o", "lwp=", "-p", str(os.getpid()))))

    def oom_kills(self) -> int:
        return 0


Inspection = ProcInspection | PsInspection


def inspection(name: str) -> Inspection:
    if name == "auto":
        name = "proc" if Path("/proc/self/stat").exists() else "ps"
    return ProcInspection() if name == "proc" else PsInspection()


# ---------------------------------------------------------------------------------------------
# Private files


def check_private_folder(folder: Path) -> None:
    """Ours, a real folder, closed to others; else PoolError."""
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode):
        raise PoolError("unsafe-folder", f"{folder} is not a folder (a link is refused)")
    if found.st_uid != os.geteuid():
        raise PoolError("unsafe-folder", f"{folder} belongs to uid {found.st_uid}, not to you")
    if found.st_mode & 0o077:
        raise PoolError("unsafe-folder", f"{folder} is open to others; run: chmod 700 {folder}")


def open_log(path: str) -> int:
    return os.open(
        path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
    )


def write_private(path: Path, text: str) -> None:
    """As a whole or not at all, readable by its owner only."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    descriptor = os.open(temporary, flags, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


class Journal:
    """Starts and exits, one JSON object per line, appended and synced before they are told."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[dict[str, Any]]:
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return []
        entries = []
        for line in text.split(b"\n"):
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # The torn last line of a pool that was killed while writing.
            if isinstance(entry, dict):
                entries.append(entry)
        return entries

    def append(self, entries: list[dict[str, Any]]) -> None:
        text = "".join(json.dumps(entry, separators=(",", ":")) + "\n" for entry in entries)
        descriptor = os.open(
            self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        try:
            size = os.fstat(descriptor).st_size
            if size > 0 and os.pread(descriptor, 1, size - 1) != b"\n":
                text = "\n" + text  # Close a torn line, so that it spoils only itself.
            data = text.encode()
            while data:
                data = data[os.write(descriptor, data) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def replace(self, entries: list[dict[str, Any]]) -> None:
        write_private(
            self.path,
            "".join(json.dumps(entry, separators=(",", ":")) + "\n" for entry in entries),
        )

    def size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError:
            return 0


# ---------------------------------------------------------------------------------------------
# Imports, once


def import_once() -> str | None:
    """Import what the children need. Returns why they cannot be forked, or None."""
    for name in NEEDED:
        try:
            importlib.import_module(name)
        # A broken package may raise anything, SystemExit too.
        except BaseException as error:  # noqa: BLE001
            return f"{name} cannot be imported: {type(error).__name__}: {error}"
    for name in HELPFUL:
        import_quietly(name)
    dask_config = importlib.import_module("dask").config
    for key in ("distributed.scheduler.http.routes", "distributed.worker.http.routes"):
        for name in dask_config.get(key, default=[]):
            if isinstance(name, str) and name.startswith("distributed."):
                import_quietly(name)
    # Before 2025 each worker imports pandas while it registers, to tell its version.
    year = str(getattr(sys.modules["distributed"], "__version__", "")).split(".")[0]
    if year.isdigit() and int(year) < 2025:
        import_quietly("pandas")
    return None


def import_quietly(name: str) -> None:
    try:
        importlib.import_module(name)
    # Optional: the child does without, or says so itself.
    except BaseException as error:  # noqa: BLE001
        print(f"{now()} {name} is not there: {type(error).__name__}: {error}", flush=True)


def why_not_fork(inspect: Inspection) -> str | None:
    """A sentence why forking this process is not safe, or None."""
    if sys.platform == "darwin":
        return "macOS does not allow a process with loaded frameworks to be forked safely"
    threads = inspect.threads()
    if threads != 1:
        names = []
        for task in sorted(Path("/proc/self/task").glob("*/comm")):
            try:
                names.append(task.read_text().strip())
            except OSError:
                continue
        return (
            f"importing Dask left {threads} threads ({', '.join(names) or 'unknown'}); "
            "only a process with one thread can be forked safely"
        )
    return None


# ---------------------------------------------------------------------------------------------
# Processes


@dataclass
class Launch:
    id: str
    attempt: int
    token: str
    argv: list[str]
    environment: dict[str, str]
    stdout: str
    stderr: str
    cwd: str
    limit: int | None
    #: The program is a shell whose child is what the limit is for.
    wrapped: bool
    #: Of the files its tasks write: the user's own, not ours.
    umask: int

    @staticmethod
    def parse(value: Any) -> Launch:
        try:
            argv, environment = value["argv"], value["environment"]
            limit = value.get("limit")
            launch = Launch(
                id=value["id"],
                attempt=value["attempt"],
                token=value.get("token", ""),
                argv=list(argv),
                environment=dict(environment),
                stdout=value["stdout"],
                stderr=value["stderr"],
                cwd=value["cwd"],
                limit=limit,
                wrapped=bool(value.get("wrapped", False)),
                umask=int(value.get("umask", 0o077)) & 0o777,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise PoolError("bad-request", f"launch is not complete: {error!r}") from error
        texts: list[Any] = [launch.id, launch.token, launch.cwd, *launch.argv]
        texts += [launch.stdout, launch.stderr, *launch.environment, *launch.environment.values()]
        if not launch.argv or any(not isinstance(text, str) or "\0" in text for text in texts):
            raise PoolError("bad-request", "launch: texts without NUL are needed")
        if any("=" in name or name == "" for name in launch.environment):
            raise PoolError("bad-request", "launch: a variable's name is not one")
        if not isinstance(value["attempt"], int) or not (
            limit is None or (isinstance(limit, int) and limit > 0)
        ):
            raise PoolError("bad-request", "launch: attempt and limit are whole numbers")
        return launch


@dataclass
class Process:
    id: str
    attempt: int
    token: str
    pid: int
    start_time: str
    mode: str
    limit: int | None
    wrapped: bool
    started: str
    #: False: started by a pool before this one; its exit code cannot be read.
    child: bool = True
    state: str = "running"
    #: Somebody asked us to end it.
    requested: bool = False
    code: int | None = None
    signal: str | None = None
    cause: dict[str, Any] | None = None
    ended: str | None = None
    kill_at: float | None = None
    over: bool = False
    popen: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def key(self) -> tuple[str, int]:
        return (self.id, self.attempt)

    def view(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "attempt": self.attempt,
            "token": self.token,
            "pid": self.pid,
            "startTime": self.start_time,
            "mode": self.mode,
            "state": self.state,
            "requested": self.requested,
            "started": self.started,
            "ended": self.ended,
            "code": self.code,
            "signal": self.signal,
            "cause": self.cause,
        }

    def start_entry(self, boot_id: str) -> dict[str, Any]:
        return {
            "type": "start",
            "id": self.id,
            "attempt": self.attempt,
            "token": self.token,
            "pid": self.pid,
            "startTime": self.start_time,
            "bootId": boot_id,
            "mode": self.mode,
            "limit": self.limit,
            "wrapped": self.wrapped,
            "time": self.started,
        }

    def exit_entry(self) -> dict[str, Any]:
        return {
            "type": "exit",
            "id": self.id,
            "attempt": self.attempt,
            "pid": self.pid,
            "startTime": self.start_time,
            "code": self.code,
            "signal": self.signal,
            "cause": self.cause,
            "requested": self.requested,
            "time": self.ended,
        }


def run_click(module: str, arguments: list[str]) -> int:
    """The command of a Dask module, as ``python -m`` would run it."""
    import click

    program = CLICK_MODULES[module]
    sys.argv = [program, *arguments]
    command = sys.modules[module].main
    try:
        result = command.main(args=arguments, prog_name=program, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        print("Aborted!", file=sys.stderr)
        return 1
    return result if isinstance(result, int) else 0


def forked_child(launch: Launch, gate: int, forget: Callable[[], None]) -> NoReturn:
    """What the child of a fork does, until its end."""
    code = 1
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        null = os.open(os.devnull, os.O_RDONLY)
        out, err = open_log(launch.stdout), open_log(launch.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        for source, target in ((null, 0), (out, 1), (err, 2)):
            os.dup2(source, target)
        forget()
        if os.read(gate, 1) != b"g":
            os._exit(70)  # The pool died before it had recorded us.
        close_inherited()
        os.umask(launch.umask)
        os.chdir(launch.cwd)
        os.environ.clear()
        os.environ.update(launch.environment)
        name_process(CLICK_MODULES[launch.argv[2]])
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(line_buffering=True)
        gc.enable()
        sys.modules["dask"].config.refresh()
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            numpy.random.seed()  # Else every child draws the same numbers.
        code = run_click(launch.argv[2], launch.argv[3:])
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            code = error.code or 0
        else:
            print(error.code, file=sys.stderr)
    except BaseException:  # noqa: BLE001  (a forked child must never return into the pool)
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code & 0xFF)


def close_inherited() -> None:
    """Everything above stderr: sockets, the wake-up pipe, the gate."""
    for listing in ("/proc/self/fd", "/dev/fd"):
        try:
            descriptors = [int(entry.name) for entry in Path(listing).iterdir()]
        except OSError:
            continue
        for descriptor in descriptors:
            if descriptor > 2:
                try:
                    os.close(descriptor)
                except OSError:
                    continue
        return
    os.closerange(3, 4096)


def name_process(name: str) -> None:
    """As ``top`` shows it; the command line is the pool's for every child."""
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text(name)


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


# ---------------------------------------------------------------------------------------------
# The pool


@dataclass(eq=False)
class Client:
    connection: socket.socket
    received: bytearray = field(default_factory=bytearray)
    to_send: bytearray = field(default_factory=bytearray)
    subscribed: bool = False
    closing: bool = False


@dataclass
class Options:
    folder: Path
    fallback_socket: Path | None
    standby: bool
    idle_seconds: float
    unassigned_seconds: float
    force_exec: bool
    inspect: Inspection
    ready_descriptor: int | None
    #: As the bridge names it; ``sys.executable`` may spell the same file otherwise.
    interpreter: str


class Pool:
    def __init__(self, options: Options) -> None:
        self.options = options
        self.inspect = options.inspect
        self.folder = options.folder
        self.assigned = not options.standby
        self.boot_id = self.inspect.boot_id()
        self.start_time = self.inspect.start_time(os.getpid()) or "unknown"
        self.selector = selectors.DefaultSelector()
        self.clients: set[Client] = set()
        self.processes: dict[tuple[str, int], Process] = {}
        self.journal = Journal(self.folder / "journal.jsonl")
        self.unfit: str | None = "the pool is still importing"
        self.listener: socket.socket | None = None
        self.socket_path = Path()
        self.lock: int | None = None
        self.terminations = 0
        self.draining = False
        self.ended = False
        self.begun = time.monotonic()
        self.busy_until = self.begun
        self.oom_kills = self.inspect.oom_kills()
        self.wake_read, self.wake_write = os.pipe()
        for end in (self.wake_read, self.wake_write):
            os.set_blocking(end, False)
        self.next_memory = self.next_orphans = self.next_housekeeping = 0.0

    # -- beginning ---------------------------------------------------------------------------

    def open(self) -> None:
        """Own the folder, listen, tell where. Requests wait in the backlog during the imports."""
        check_private_folder(self.folder)
        self.lock = take_lock(self.folder)
        self.listen(self.folder, self.options.fallback_socket)
        self.write_state()
        self.adopt()
        signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self.on_terminate)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.selector.register(self.wake_read, selectors.EVENT_READ, self.on_wake)

    def warm(self) -> None:
        gc.disable()
        if self.options.force_exec:
            self.unfit = "the pool was told to start each process anew"
        else:
            self.unfit = import_once() or why_not_fork(self.inspect)
        gc.collect()
        gc.freeze()
        if self.unfit is not None:
            gc.enable()
            self.log(f"processes are started by exec: {self.unfit}")
        self.log(f"ready, {self.inspect.threads()} thread(s)")

    def listen(self, folder: Path, fallback: Path | None) -> None:
        reasons = []
        for path in (folder / "socket", fallback):
            if path is None:
                continue
            if len(os.fsencode(path)) > LONGEST_SOCKET_PATH:
                reasons.append(f"{path}: longer than {LONGEST_SOCKET_PATH} bytes")
                continue
            try:
                check_private_folder(path.parent)
                path.unlink(missing_ok=True)  # We hold the lock: whoever made it is gone.
                listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                listener.bind(str(path))
                path.chmod(0o600)
                listener.listen(64)
                listener.setblocking(False)
            except (OSError, PoolError) as error:
                reasons.append(f"{path}: {error}")
                continue
            self.close_listener(kept=path)
            self.listener = listener
            self.socket_path = path
            self.selector.register(listener, selectors.EVENT_READ, self.on_connect)
            return
        raise PoolError("no-socket", "no place for the pool's socket: " + "; ".join(reasons))

    def close_listener(self, kept: Path | None = None) -> None:
        if self.listener is not None:
            self.selector.unregister(self.listener)
            self.listener.close()
            if self.socket_path != kept:
                self.socket_path.unlink(missing_ok=True)
            self.listener = None

    def write_state(self) -> None:
        write_private(self.folder / "pool.json", json.dumps(self.describe()) + "\n")

    def describe(self) -> dict[str, Any]:
        return {
            "protocol": PROTOCOL,
            "pid": os.getpid(),
            "startTime": self.start_time,
            "bootId": self.boot_id,
            "host": socket.gethostname(),
            "python": sys.executable,
            "socket": str(self.socket_path),
            "assigned": self.assigned,
        }

    def adopt(self) -> None:
        """Take over what a pool that was killed has left: limits go on, ends are noticed."""
        alive: dict[tuple[str, int], Process] = {}
        for entry in self.journal.read():
            try:
                key = (entry["id"], entry["attempt"])
                if entry["type"] == "start":
                    process = Process(
                        id=entry["id"],
                        attempt=entry["attempt"],
                        token=entry["token"],
                        pid=entry["pid"],
                        start_time=entry["startTime"],
                        mode=entry["mode"],
                        limit=entry["limit"],
                        wrapped=entry["wrapped"],
                        started=entry["time"],
                        child=False,
                    )
                    if entry["bootId"] != self.boot_id:
                        process.state = "ended"
                    alive[key] = process
                elif entry["type"] == "exit" and key in alive:
                    process = alive[key]
                    process.state = "ended"
                    process.code, process.signal = entry["code"], entry["signal"]
                    process.cause, process.ended = entry["cause"], entry["time"]
                    process.requested = entry["requested"]
            except (KeyError, TypeError):
                continue
        self.processes.update(alive)
        self.check_orphans()

    # -- the loop ----------------------------------------------------------------------------

    def run(self) -> None:
        while not self.ended:
            for key, mask in self.selector.select(self.patience()):
                key.data(mask)
            self.reap()
            self.tick()

    def living(self) -> list[Process]:
        return [process for process in self.processes.values() if process.state != "ended"]

    def patience(self) -> float:
        living = self.living()
        if any(process.limit is not None or process.kill_at is not None for process in living):
            return MEMORY_TICK
        return ORPHAN_TICK if living else HOUSEKEEPING_TICK

    def tick(self) -> None:
        clock = time.monotonic()
        living = self.living()
        if clock >= self.next_memory:
            self.next_memory = clock + MEMORY_TICK
            self.check_memory(living)
            self.kill_overdue(living, clock)
        if clock >= self.next_orphans:
            self.next_orphans = clock + ORPHAN_TICK
            self.check_orphans()
            self.oom_kills = self.inspect.oom_kills()
        if living or (self.clients and self.assigned):
            self.busy_until = clock
        if clock >= self.next_housekeeping:
            self.next_housekeeping = clock + HOUSEKEEPING_TICK
            self.keep_house()
        if self.should_end(clock, bool(living)):
            self.end()

    def should_end(self, clock: float, living: bool) -> bool:
        if self.terminations > 1:
            return True
        if living:
            return False
        if self.draining or self.terminations > 0:
            return True
        if not self.assigned:
            return clock - self.begun > self.options.unassigned_seconds
        return clock - self.busy_until > self.options.idle_seconds

    def keep_house(self) -> None:
        """Listen again where a cleaner of /tmp removed the socket."""
        if self.listener is None or self.socket_path.exists():
            return
        if not self.folder.exists():
            self.draining = True  # The cluster was forgotten: stay only for what still runs.
            return
        try:
            self.listen(self.folder, self.options.fallback_socket)
            self.write_state()
        except (OSError, PoolError) as error:
            self.log(f"cannot listen again: {error}")

    def end(self) -> None:
        self.ended = True
        living = self.living()
        self.log(f"ends; {len(living)} process(es) go on without a pool")
        self.close_listener()
        for client in list(self.clients):
            self.flush(client)
            self.drop(client)
        try:
            (self.folder / "pool.json").unlink(missing_ok=True)
            if not self.assigned:
                remove_folder(self.folder)
        except OSError:
            pass

    def on_terminate(self, *_: object) -> None:
        """First: start nothing more, end after the last process. Second: end now."""
        self.terminations += 1

    def on_wake(self, _mask: int) -> None:
        try:
            while os.read(self.wake_read, 4096):
                pass
        except BlockingIOError:
            pass

    def log(self, text: str) -> None:
        with contextlib.suppress(OSError):
            print(f"{now()} {text}", flush=True)

    # -- clients -----------------------------------------------------------------------------

    def on_connect(self, _mask: int) -> None:
        if self.listener is None:
            return
        try:
            connection, _ = self.listener.accept()
        except OSError:
            return
        if not same_user(connection):
            connection.close()
            return
        connection.setblocking(False)
        client = Client(connection)
        self.clients.add(client)
        self.selector.register(
            connection, selectors.EVENT_READ, lambda mask: self.on_client(client, mask)
        )

    def on_client(self, client: Client, mask: int) -> None:
        if mask & selectors.EVENT_WRITE:
            self.flush(client)
        if mask & selectors.EVENT_READ and client in self.clients:
            try:
                data = client.connection.recv(1 << 18)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                data = b""
            if not data:
                self.drop(client)
                return
            client.received += data
            while client in self.clients:
                end = client.received.find(b"\n")
                if end < 0:
                    break
                line = bytes(client.received[:end])
                del client.received[: end + 1]
                self.answer(client, line)
            if len(client.received) > LONGEST_LINE:
                self.drop(client)

    def answer(self, client: Client, line: bytes) -> None:
        number: Any = None
        try:
            try:
                message = json.loads(line)
                number = message["n"]
                operation = message["op"]
            except (ValueError, KeyError, TypeError) as error:
                raise PoolError("bad-request", f"not a request: {error!r}") from error
            handler = getattr(self, f"op_{operation}", None)
            if handler is None:
                raise PoolError("bad-request", f"there is no operation {operation!r}")
            reply = {"re": number, "ok": True, **handler(client, message)}
        except PoolError as error:
            reply = {"re": number, "ok": False, "code": error.code, "error": str(error)}
        except (KeyError, TypeError, ValueError) as error:
            reply = {"re": number, "ok": False, "code": "bad-request", "error": repr(error)}
        except OSError as error:
            reply = {"re": number, "ok": False, "code": "system", "error": str(error)}
        self.send(client, reply)

    def send(self, client: Client, message: dict[str, Any]) -> None:
        client.to_send += json.dumps(message, separators=(",", ":")).encode() + b"\n"
        self.flush(client)

    def flush(self, client: Client) -> None:
        if client not in self.clients:
            return
        try:
            while client.to_send:
                sent = client.connection.send(client.to_send)
                del client.to_send[:sent]
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self.drop(client)
            return
        if len(client.to_send) > LONGEST_BACKLOG:
            self.drop(client)  # It does not read; what it missed is in the journal.
            return
        events = selectors.EVENT_READ
        if client.to_send:
            events |= selectors.EVENT_WRITE
        key = self.selector.get_key(client.connection)
        if key.events != events:
            self.selector.modify(client.connection, events, key.data)

    def drop(self, client: Client) -> None:
        if client in self.clients:
            self.clients.discard(client)
            self.selector.unregister(client.connection)
            client.connection.close()

    def publish(self, event: dict[str, Any]) -> None:
        for client in list(self.clients):
            if client.subscribed:
                self.send(client, event)

    # -- operations --------------------------------------------------------------------------

    def op_ping(self, _client: Client, _message: dict[str, Any]) -> dict[str, Any]:
        return {}

    def op_hello(self, _client: Client, _message: dict[str, Any]) -> dict[str, Any]:
        return {
            **self.describe(),
            "threads": self.inspect.threads(),
            "forks": self.unfit is None,
            "whyNot": self.unfit,
            "draining": self.draining or self.terminations > 0,
        }

    def op_subscribe(self, client: Client, _message: dict[str, Any]) -> dict[str, Any]:
        client.subscribed = True
        return {}

    def op_list(self, _client: Client, message: dict[str, Any]) -> dict[str, Any]:
        """All processes, or those of the asked ids; ended ones are remembered for a while."""
        self.reap()
        ids = message.get("ids")
        wanted = None if ids is None else set(ids)
        return {
            "processes": [
                process.view()
                for process in self.processes.values()
                if wanted is None or process.id in wanted
            ]
        }

    def op_start(self, _client: Client, message: dict[str, Any]) -> dict[str, Any]:
        """One result per launch, in order; a launch started before answers as it is now."""
        launches = [Launch.parse(value) for value in message["launches"]]
        if not self.assigned:
            raise PoolError("unassigned", "this pool has no cluster yet")
        if self.draining or self.terminations > 0:
            raise PoolError("draining", "this pool is ending and starts nothing more")
        if self.unfit is None:
            # A library may start a thread at any later import: looked at before every fork.
            self.unfit = why_not_fork(self.inspect)
        results: list[dict[str, Any]] = []
        fresh: list[tuple[Process, int]] = []
        for launch in launches:
            known = self.processes.get((launch.id, launch.attempt))
            if known is not None:
                results.append({"id": launch.id, "existing": True, "process": known.view()})
                continue
            try:
                process, gate = self.spawn(launch)
            except OSError as error:
                results.append({"id": launch.id, "error": str(error), "errno": error.errno})
                continue
            self.processes[process.key] = process
            fresh.append((process, gate))
            results.append({"id": launch.id, "existing": False, "process": process})
        self.record_started(fresh)
        for result in results:
            if isinstance(result.get("process"), Process):
                result["process"] = result["process"].view()
        return {"results": results, "fallback": self.unfit}

    def record_started(self, fresh: list[tuple[Process, int]]) -> None:
        """Into the journal first; only then may they run."""
        try:
            if fresh:
                self.write_journal([p.start_entry(self.boot_id) for p, _ in fresh])
        except OSError as error:
            for process, gate in fresh:
                os.close(gate)  # Not opened: the children end by themselves.
                del self.processes[process.key]
                self.wait_quietly(process)
            raise PoolError("journal", f"the start could not be recorded: {error}") from error
        for _, gate in fresh:
            with contextlib.suppress(OSError):  # It is dead already; its exit will be read.
                os.write(gate, b"go\n")
            os.close(gate)

    def wait_quietly(self, process: Process) -> None:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(process.pid, 0)
        if process.popen is not None:
            process.popen.returncode = 70

    def op_terminate(self, _client: Client, message: dict[str, Any]) -> dict[str, Any]:
        """End one process: SIGTERM to its group, after the grace SIGKILL."""
        grace = float(message["graceSeconds"])
        process = self.find(message)
        if process is None:
            return {"known": False}
        if process.state != "ended":
            deadline = time.monotonic() + max(0.0, grace)
            if process.state == "running" or process.kill_at is None:
                process.state, process.requested = "stopping", True
                process.kill_at = deadline
                self.signal_group(process, signal.SIGTERM if grace > 0 else signal.SIGKILL)
            else:
                process.kill_at = min(process.kill_at, deadline)
            self.reap()
        return {"known": True, "process": process.view()}

    def op_kill(self, _client: Client, message: dict[str, Any]) -> dict[str, Any]:
        """Send one signal to the process itself."""
        number = signal.Signals[message["signal"]]
        process = self.find(message)
        if process is None:
            return {"known": False}
        if process.state != "ended" and self.is_itself(process):
            os.kill(process.pid, number)
            self.reap()
        return {"known": True, "process": process.view()}

    def find(self, message: dict[str, Any]) -> Process | None:
        name, pid, start_time = message["id"], message["pid"], message["startTime"]
        for process in self.processes.values():
            if (
                process.id == name
                and process.pid == pid
                and self.inspect.same(process.start_time, start_time)
            ):
                return process
        return None

    def op_assign(self, _client: Client, message: dict[str, Any]) -> dict[str, Any]:
        """A pool started ahead of time gets its cluster: it moves into the cluster's folder."""
        if self.assigned:
            raise PoolError("assigned", "this pool has a cluster already")
        if self.draining or self.terminations > 0:
            raise PoolError("draining", "this pool is ending")
        folder = Path(message["folder"])
        fallback = message.get("fallbackSocket")
        check_private_folder(folder)
        lock = take_lock(folder)
        old_folder, old_lock = self.folder, self.lock
        try:
            self.listen(folder, None if fallback is None else Path(fallback))
        except BaseException:
            os.close(lock)
            raise
        self.folder, self.lock, self.assigned = folder, lock, True
        self.options.fallback_socket = None if fallback is None else Path(fallback)
        self.journal = Journal(folder / "journal.jsonl")
        self.busy_until = time.monotonic()
        self.write_state()
        self.adopt()
        log = open_log(str(folder / "pool.log"))
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        if old_lock is not None:
            os.close(old_lock)
        remove_folder(old_folder)
        self.log("assigned")
        return self.op_hello(_client, message)

    def op_shutdown(self, _client: Client, _message: dict[str, Any]) -> dict[str, Any]:
        """End, once nothing of ours runs; start nothing more until then."""
        self.draining = True
        return {"running": len(self.living())}

    # -- starting ----------------------------------------------------------------------------

    def spawn(self, launch: Launch) -> tuple[Process, int]:
        """Start it behind a gate: it does nothing until a line is written to the descriptor."""
        forkable = (
            self.unfit is None
            and launch.argv[0] in (sys.executable, self.options.interpreter)
            and launch.argv[1:2] == ["-m"]
            and launch.argv[2:3] != []
            and launch.argv[2] in CLICK_MODULES
        )
        gate_read, gate_write = os.pipe()
        popen: subprocess.Popen[bytes] | None = None
        try:
            if forkable:
                pid = self.fork(launch, gate_read, gate_write)
            else:
                popen = self.execute(launch, gate_read)
                pid = popen.pid
        except BaseException:
            os.close(gate_write)
            raise
        finally:
            os.close(gate_read)
        return Process(
            id=launch.id,
            attempt=launch.attempt,
            token=launch.token,
            pid=pid,
            start_time=self.inspect.start_time(pid) or "unknown",
            mode="fork" if forkable else "exec",
            limit=launch.limit,
            wrapped=launch.wrapped,
            started=now(),
            popen=popen,
        ), gate_write

    def fork(self, launch: Launch, gate_read: int, gate_write: int) -> int:
        sys.stdout.flush()
        sys.stderr.flush()
        # Fail here, where it can be told, rather than in the child.
        for path in (launch.stdout, launch.stderr):
            os.close(open_log(path))
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            pid = os.fork()
            if pid == 0:

                def forget() -> None:
                    os.close(gate_write)
                    self.forget()

                forked_child(launch, gate_read, forget)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return pid

    def execute(self, launch: Launch, gate_read: int) -> subprocess.Popen[bytes]:
        out = open_log(launch.stdout)
        try:
            err = open_log(launch.stderr)
            try:
                return subprocess.Popen(
                    ["/bin/sh", "-c", EXEC_GATE, "muster", *launch.argv],
                    stdin=gate_read,
                    stdout=out,
                    stderr=err,
                    cwd=launch.cwd,
                    # Lines of the log appear when they are written; the folder of the
                    # start is not searched for modules, as in a forked child (3.11 on).
                    env={"PYTHONUNBUFFERED": "1", "PYTHONSAFEPATH": "1", **launch.environment},
                    start_new_session=True,
                    umask=launch.umask,
                )
            finally:
                os.close(err)
        finally:
            os.close(out)

    def forget(self) -> None:
        """In the child: the parent's sockets are not ours to speak on."""
        self.selector.close()
        if self.listener is not None:
            self.listener.close()
        for client in self.clients:
            client.connection.close()
        self.clients.clear()
        self.processes.clear()

    # -- watching ----------------------------------------------------------------------------

    def reap(self) -> None:
        """Read the exit of every child that has ended."""
        ended = []
        for process in self.living():
            if process.child and self.reap_one(process):
                ended.append(process)
        self.settle(ended)

    def reap_one(self, process: Process) -> bool:
        try:
            if hasattr(os, "waitid"):
                found = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if found is None:
                    return False
                # Not yet reaped: the number of its group cannot be another's.
                end_group(process.pid)
            pid, status = os.waitpid(process.pid, os.WNOHANG)
        except ChildProcessError:
            process.child = False  # Somebody else has read it: judged by its absence.
            return False
        if pid == 0:
            return False
        if not hasattr(os, "waitid"):
            end_group(process.pid)
        if os.WIFSIGNALED(status):
            process.signal = signal_name(os.WTERMSIG(status))
        else:
            process.code = os.WEXITSTATUS(status)
        if process.popen is not None:
            process.popen.returncode = 0  # So that subprocess does not wait for it, too.
            process.popen = None
        if process.signal == "SIGKILL" and process.cause is None and not process.requested:
            kills = self.inspect.oom_kills()
            if kills > self.oom_kills:
                process.cause = {"type": "kernel-out-of-memory", "pid": process.pid}
        return True

    def check_orphans(self) -> None:
        """Those of a pool before us: gone is all that can be known of their end."""
        ended = []
        for process in self.living():
            if not process.child and not self.is_itself(process):
                ended.append(process)
        self.settle(ended)

    def settle(self, ended: list[Process]) -> None:
        if not ended:
            return
        for process in ended:
            process.state, process.ended, process.kill_at = "ended", now(), None
        try:
            self.write_journal([process.exit_entry() for process in ended])
        except OSError as error:
            self.log(f"the exit could not be recorded: {error}")
        for process in ended:
            self.publish({"event": "exit", "process": process.view()})
        self.forget_old()

    def forget_old(self) -> None:
        ended = [process for process in self.processes.values() if process.state == "ended"]
        for process in ended[: max(0, len(ended) - ENDED_KEPT)]:
            del self.processes[process.key]

    def write_journal(self, entries: list[dict[str, Any]]) -> None:
        self.journal.append(entries)
        if self.journal.size() > JOURNAL_LIMIT:
            kept = []
            for process in self.processes.values():
                kept.append(process.start_entry(self.boot_id))
                if process.state == "ended":
                    kept.append(process.exit_entry())
            self.journal.replace(kept)

    def is_itself(self, process: Process) -> bool:
        return self.inspect.same(self.inspect.start_time(process.pid), process.start_time)

    def check_memory(self, living: Iterable[Process]) -> None:
        """Above 95 % of the limit: SIGTERM; still there at the next look: SIGKILL."""
        for process in living:
            if process.limit is None or process.state == "ended":
                continue
            used = self.memory_of(process)
            if process.over:
                # A worker without a nanny answers SIGTERM by waiting for its task: no longer.
                self.signal_group(process, signal.SIGKILL)
            elif used is not None and used > process.limit * MEMORY_FRACTION:
                process.over = True
                if process.cause is None:
                    process.cause = {
                        "type": "memory-limit",
                        "pid": process.pid,
                        "rss": used,
                        "limit": process.limit,
                    }
                self.log(f"{process.id} uses {used} of {process.limit} bytes: ended")
                self.signal_group(process, signal.SIGTERM)

    def memory_of(self, process: Process) -> int | None:
        """Proportional share where known. It costs a walk over all pages: only when RSS is near."""
        pids = [process.pid]
        if process.wrapped:
            pids += self.inspect.children(process.pid)
        total = 0
        sizes = [(pid, self.inspect.rss(pid) or 0) for pid in pids]
        near = process.limit is not None and sum(s for _, s in sizes) > (
            process.limit * MEMORY_FRACTION
        )
        for pid, rss in sizes:
            share = self.inspect.pss(pid) if near else None
            total += rss if share is None else share
        return total

    def kill_overdue(self, living: Iterable[Process], clock: float) -> None:
        for process in living:
            if process.kill_at is not None and clock >= process.kill_at:
                process.kill_at = clock + 1.0
                self.signal_group(process, signal.SIGKILL)

    def signal_group(self, process: Process, number: signal.Signals) -> None:
        """To the whole session's first group, if it is still this very process."""
        if process.state == "ended" or not self.is_itself(process):
            return
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            try:
                os.kill(process.pid, number)  # Just forked: not yet the leader of its group.
            except ProcessLookupError:
                return
        except PermissionError as error:
            self.log(f"{process.id} cannot be signalled: {error}")


def end_group(group: int) -> None:
    """A job is its process group: what it left behind ends with it, as in a batch system."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def take_lock(folder: Path) -> int:
    """One pool per folder. The lock goes with the process; children close their copy."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(folder / "lock", flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            os.close(descriptor)
            raise PoolError("busy", f"another pool owns {folder}") from error
        # A file system without locks: the bridge starts one pool at a time anyway.
    return descriptor


def remove_folder(folder: Path) -> None:
    """The few files a standby pool made."""
    for name in STANDBY_FILES:
        try:
            (folder / name).unlink(missing_ok=True)
        except OSError:
            continue
    with contextlib.suppress(OSError):
        folder.rmdir()


def same_user(connection: socket.socket) -> bool:
    """The socket's mode keeps others out; where the kernel tells the peer, look as well."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    size = struct.calcsize("3i")
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _, uid, _ = struct.unpack("3i", credentials)
    return uid in (os.geteuid(), 0)


def parse_options(arguments: list[str]) -> Options:
    parser = argparse.ArgumentParser(prog="muster-pool", description="Muster's warm worker pool")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--fallback-socket", type=Path, default=None)
    parser.add_argument("--standby", action="store_true")
    parser.add_argument("--idle-seconds", type=float, default=600)
    parser.add_argument("--unassigned-seconds", type=float, default=600)
    parser.add_argument("--force-exec", action="store_true")
    parser.add_argument("--inspection", choices=("auto", "proc", "ps"), default="auto")
    parser.add_argument("--interpreter", default=sys.executable)
    parser.add_argument("--ready-descriptor", type=int, default=None)
    values = parser.parse_args(arguments)
    return Options(
        folder=values.folder,
        fallback_socket=values.fallback_socket,
        standby=values.standby,
        idle_seconds=values.idle_seconds,
        unassigned_seconds=values.unassigned_seconds,
        force_exec=values.force_exec,
        inspect=inspection(values.inspection),
        ready_descriptor=values.ready_descriptor,
        interpreter=values.interpreter,
    )


def tell(descriptor: int | None, message: dict[str, Any]) -> None:
    """To whoever started us, if still there."""
    if descriptor is None:
        return
    try:
        os.write(descriptor, json.dumps(message).encode() + b"\n")
    except OSError:
        pass
    finally:
        os.close(descriptor)


def main(arguments: list[str]) -> int:
    if os.getsid(0) != os.getpid():
        with contextlib.suppress(PermissionError):  # The leader of a group already.
            os.setsid()
    os.umask(0o077)
    # `python pool.py` searches this file's folder for modules; `python -m` would not.
    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != here]
    options = parse_options(arguments)
    pool = Pool(options)
    try:
        pool.open()
    except PoolError as error:
        tell(options.ready_descriptor, {"ok": False, "code": error.code, "error": str(error)})
        print(f"{now()} {error}", flush=True)
        return 75 if error.code == "busy" else 1
    tell(options.ready_descriptor, {"ok": True, "socket": str(pool.socket_path)})
    pool.warm()
    pool.run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
