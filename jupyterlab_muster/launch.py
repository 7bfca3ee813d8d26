"""Starting a bridge that outlives us: own session, no pipes, no terminal, no tokens (§9 step 3)."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import BridgeUnavailable
from .folders import LOG_NAME

#: Bytes of bridge.log after which it is moved to bridge.log.1.
LOG_LIMIT = 5 * 1024 * 1024
#: Lines of the log shown with a failure.
TAIL_LINES = 20

_SECRET_NAMES = {
    "JUPYTER_TOKEN",
    "JUPYTERHUB_API_TOKEN",
    "JUPYTERHUB_COOKIE_SECRET",
    "JUPYTERHUB_CRYPT_KEY",
    "CONFIGPROXY_AUTH_TOKEN",
    "MUSTER_TOKEN",
    # Not a secret, but `--inspect` in it would open a port in the daemon.
    "NODE_OPTIONS",
}

# The process between us and the bridge. A fork inside a Jupyter server full of threads is not safe,
# and a plain child would be ended by whatever ends the server's process tree. It stays only while
# the start is being watched: it reports the pid, then the exit code if the bridge ends; on "kill"
# it ends the bridge's whole group, whose leader it has not reaped, so that the number cannot have
# become somebody else's; when its stdin closes it goes, and the bridge belongs to init.
_MIDWIFE = """\
import json, os, select, signal, sys, time
order = json.loads(sys.stdin.buffer.readline())
child = os.fork()
if child == 0:
    try:
        os.setsid()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        null = os.open(os.devnull, os.O_RDWR)
        log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        os.dup2(null, 0); os.dup2(null, 1); os.dup2(log, 2)
        os.closerange(3, 65536)
        os.chdir(order["home"])
        order["env"]["MUSTER_UMASK"] = format(os.umask(0o077), "03o")
        os.execve(order["argv"][0], order["argv"], order["env"])
    except BaseException as error:
        os.write(2, ("cannot start the bridge: %s\\n" % error).encode())
    finally:
        os._exit(127)
def say(**what):
    try:
        sys.stdout.write(json.dumps(what) + "\\n"); sys.stdout.flush()
    except OSError:
        pass
def ended():
    # Not reaped (WNOWAIT): as long as it is a zombie the group's number is its own.
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
say(pid=child)
reported = False
while True:
    ready = select.select([sys.stdin], [], [], 0.02 if not reported else None)[0]
    if ready:
        if sys.stdin.buffer.raw.read(5)[:4] != b"kill":
            break
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(child, number)
            except OSError:
                break
            until = time.monotonic() + 2
            while time.monotonic() < until and not ended():
                time.sleep(0.02)
        say(killed=True)
        break
    if not reported:
        found = ended()
        if found:
            reported = True
            say(exit=found.si_status if found.si_code == os.CLD_EXITED else -found.si_status)
"""


@dataclass(frozen=True)
class LaunchOrder:
    """What to run, with which environment, and where its words go."""

    argv: Sequence[str]
    log: Path
    environ: Mapping[str, str]


class Birth:
    """A bridge being started; watched until it answers, killed if it fails, else let go.

    Every method is to be called from one thread.
    """

    def __init__(self, order: LaunchOrder) -> None:
        self._exit: int | None = None
        self._buffer = b""
        # -S -E: nothing of the site runs, this is a start of 10 ms.
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-E", "-c", _MIDWIFE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            close_fds=True,
        )
        message = {
            "argv": list(order.argv),
            "log": str(order.log),
            "home": _home(),
            "env": dict(order.environ),
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
            self.pid = int(json.loads(self._process.stdout.readline())["pid"])
        except (OSError, ValueError) as error:
            self.release()
            raise BridgeUnavailable(f"The bridge cannot be started: {error}") from error
        os.set_blocking(self._process.stdout.fileno(), False)

    def exit_code(self) -> int | None:
        """Of the bridge; negative: ended by that signal; None: it runs."""
        if self._exit is None:
            self._read()
        return self._exit

    def kill(self) -> None:
        """End the bridge and what it started, as a group."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(b"kill\n")
            self._process.stdin.flush()
            self._process.wait(timeout=6)
        except (OSError, subprocess.TimeoutExpired):
            pass
        self.release()

    def release(self) -> None:
        """Watch no longer; the bridge goes on by itself."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            data = os.read(self._process.stdout.fileno(), 4096)
        except BlockingIOError:
            return
        self._buffer += data
        while b"\n" in self._buffer:
            line, _, self._buffer = self._buffer.partition(b"\n")
            word = json.loads(line)
            if "exit" in word:
                self._exit = int(word["exit"])
        if not data and self._exit is None and self._process.poll() is not None:
            # The midwife was ended by somebody; how the bridge fares is told by its hello alone.
            self._exit = 0


def _home() -> str:
    home = Path.home()
    return str(home) if home.is_dir() else "/"


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without tokens; JUPYTER_PATH and the like stay: kernels are found by them."""
    return {
        key: value
        for key, value in environ.items()
        if key not in _SECRET_NAMES and not key.startswith("JPY_")
    }


def scope_prefix(environ: Mapping[str, str]) -> list[str]:
    """``systemd-run --user --scope`` where the user's manager answers, else nothing.

    Session cleaners (KillUserProcesses) end what is left of a login, but not scopes of the manager.
    """
    runtime = environ.get("XDG_RUNTIME_DIR")
    program = shutil.which("systemd-run", path=environ.get("PATH", os.defpath))
    if not runtime or program is None or not (Path(runtime) / "systemd" / "private").exists():
        return []
    prefix = [program, "--user", "--scope", "--quiet", "--collect", "--"]
    try:
        tried = subprocess.run(
            [*prefix, "true"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(environ),
            timeout=3,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return prefix if tried.returncode == 0 else []


def rotate_log(log: Path) -> None:
    """Move the log's content aside when it has grown past the limit; safe while a bridge writes.

    The bridge holds the file open for appending, so the content is copied and the file cut.
    """
    try:
        descriptor = os.open(log, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    with os.fdopen(descriptor, "r+b") as file:
        try:
            if os.fstat(file.fileno()).st_size <= LOG_LIMIT:
                return
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file.fileno()).st_size <= LOG_LIMIT:
                return
            kept = log.with_name(log.name + ".1")
            kept.unlink(missing_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(kept, flags, 0o600), "wb") as copy:
                shutil.copyfileobj(file, copy)
            file.truncate(0)
        except OSError:
            return


def log_tail(folder: Path, since: int = 0, lines: int = TAIL_LINES) -> str:
    """The last lines of the log, of what was written after byte ``since``."""
    try:
        with (folder / LOG_NAME).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            start = max(since if since <= size else 0, size - 32 * 1024)
            file.seek(start)
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


def log_size(folder: Path) -> int:
    """Bytes written so far; 0 where there is no log."""
    try:
        found = (folder / LOG_NAME).lstat()
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0
