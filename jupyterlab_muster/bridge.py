"""Find the user's bridge, or start one: for the Jupyter server and the ``muster`` command alike.

Everything here blocks and needs no event loop (specs/jupyterlab-extension.md §9). As a program:
``python -m jupyterlab_muster.bridge start --json`` prints ``{"socket", "pid"}`` or an error body.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from . import folders
from .config import config_folders
from .errors import BridgeUnavailable, MusterError
from .launch import (
    Birth,
    LaunchOrder,
    clean_environment,
    log_size,
    log_tail,
    rotate_log,
    scope_prefix,
)
from .node import find_node
from .record import (
    BridgeAbsent,
    BridgeRecord,
    BridgeRecovering,
    BridgeSilent,
    Hello,
    ask,
    hello,
    read_record,
)
from .version import PROTOCOL, VERSION, is_older

#: Seconds after which a bridge that holds its socket but does not answer is taken for hung. The one
#: started then decides by lease and lock whether the old one is really gone (R8).
PATIENCE = 6.0
_LOOK_EVERY = 0.05


@dataclass(frozen=True)
class BridgeSettings:
    """How to find and start a bridge; None: the variables and defaults of the command."""

    node_path: str | None = None
    runtime_dir: str | None = None
    state_dir: str | None = None
    #: Seconds; 0: the bridge never ends by itself.
    idle_timeout: float = 600.0
    log_level: str = "info"
    #: Seconds until a start that gives no sign of life is given up; 0: never.
    start_timeout: float = 30.0
    extra_arguments: Sequence[str] = ()
    #: For tests: run this instead of Node and the bundle.
    program: Sequence[str] | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


@dataclass(frozen=True)
class FoundBridge:
    """A bridge that said hello."""

    record: BridgeRecord
    hello: Hello
    #: Whether this call started it.
    started: bool


class StartCancelled(Exception):
    """The caller asked to stop waiting; a bridge already started goes on by itself."""


def bundle() -> Path:
    """The bridge's program inside the package.

    :raises BridgeUnavailable: a source tree that was never built.
    """
    path = Path(str(files("jupyterlab_muster") / "bridge" / "bridge.mjs"))
    if not path.is_file():
        raise BridgeUnavailable(
            f"The bridge's program is missing: {path}",
            fix="reinstall jupyterlab_muster (in a source tree: script/setup)",
        )
    return path


def serve_command(settings: BridgeSettings, runtime: Path) -> list[str]:
    """The command line of the daemon; never a secret in it."""
    if settings.program is not None:
        program = list(settings.program)
    else:
        program = [find_node(settings.node_path, settings.environ).path, str(bundle())]
    return [
        *program,
        "serve",
        "--runtime",
        str(runtime),
        "--state",
        str(folders.state_root(settings.state_dir, settings.environ)),
        "--python",
        sys.executable,
        "--config",
        ",".join(config_folders()),
        "--idle-timeout",
        f"{settings.idle_timeout:g}",
        "--log-level",
        settings.log_level,
        *settings.extra_arguments,
    ]


def find(settings: BridgeSettings, timeout: float = 2.0) -> FoundBridge:
    """The living bridge.

    :raises BridgeAbsent, BridgeRecovering: there is none, or none yet.
    :raises BridgeUnavailable: there is one that may not be used.
    """
    runtime = folders.runtime_folder(settings.runtime_dir, settings.environ)
    if not runtime.exists():
        raise BridgeAbsent("no runtime folder")
    folders.ensure_private(runtime, "MUSTER_RUNTIME_DIR")
    record = read_record(runtime)
    return FoundBridge(record, hello(record, timeout), started=False)


def find_ours(settings: BridgeSettings) -> FoundBridge:
    """The living bridge, if it is one to stay with; starts and replaces nothing.

    :raises BridgeAbsent, BridgeRecovering: there is none, or only one that is to be replaced.
    :raises BridgeUnavailable: there is one that may not be used.
    """
    found = find(settings)
    if not _is_ours(found, replace=False):
        raise BridgeAbsent(f"only an older bridge ({found.hello.version})")
    return found


def find_or_start(
    settings: BridgeSettings,
    *,
    cancelled: threading.Event | None = None,
    on_start: Callable[[], None] | None = None,
    replace: bool = False,
) -> FoundBridge:
    """The living bridge, or a new one.

    :param cancelled: set by another thread to stop waiting.
    :param on_start: called when something has to be started or waited for.
    :param replace: also replace an older bridge that has clusters; they stay.
    :raises BridgeUnavailable: with what was tried, the fix, the log's tail.
    """
    if os.name != "posix":
        raise BridgeUnavailable("Muster's bridge needs Linux or macOS; use it in WSL on Windows.")
    cancelled = cancelled or threading.Event()
    runtime = folders.runtime_folder(settings.runtime_dir, settings.environ)
    folders.ensure_private(runtime, "MUSTER_RUNTIME_DIR")
    state = folders.state_root(settings.state_dir, settings.environ)
    folders.ensure_private(state, "MUSTER_STATE_DIR")
    found = _wait_for_living(settings, cancelled, on_start)
    if found is not None:
        if _is_ours(found, replace):
            return found
        shut_down(found)
    if on_start is not None:
        on_start()
    return _start(settings, runtime, cancelled)


def _wait_for_living(
    settings: BridgeSettings,
    cancelled: threading.Event,
    on_start: Callable[[], None] | None,
) -> FoundBridge | None:
    """A bridge that is there; waits while it recovers, and a little while it is silent."""
    silent_until: float | None = None
    while True:
        try:
            return find(settings)
        except BridgeSilent:
            now = time.monotonic()
            silent_until = silent_until or now + PATIENCE
            if now >= silent_until:
                return None
        except BridgeAbsent:
            return None
        except BridgeRecovering:
            silent_until = None
        if on_start is not None:
            on_start()
        _pause(cancelled)


def _is_ours(found: FoundBridge, replace: bool) -> bool:
    """Whether to stay with it; False: an older one that may be replaced (§9 "Versions").

    :raises BridgeUnavailable: another protocol that may not simply be replaced.
    """
    other = found.hello
    clusters = f"{other.clusters} cluster{'' if other.clusters == 1 else 's'}"
    details = {
        "version": other.version,
        "protocol": other.protocol,
        "expected": {"version": VERSION, "protocol": PROTOCOL},
        "clusters": other.clusters,
    }
    if other.protocol > PROTOCOL:
        raise BridgeUnavailable(
            f"A newer Muster bridge ({other.version}) runs {clusters}; this is {VERSION}.",
            fix="pip install --upgrade jupyterlab_muster, then restart Jupyter",
            details={"kind": "newer-bridge", **details},
        )
    older = other.protocol < PROTOCOL or is_older(other.version, VERSION)
    if not older:
        return True
    if replace or other.clusters == 0:
        return False
    if other.protocol == PROTOCOL:
        return True
    raise BridgeUnavailable(
        f"An older Muster bridge ({other.version}) runs {clusters}.",
        fix="replace it with `muster shutdown`: clusters go on and are found again",
        details={"kind": "older-bridge", **details},
    )


def shut_down(found: FoundBridge, timeout: float = 15.0) -> None:
    """Ask the bridge to save and exit, and wait until it is gone; clusters stay.

    :raises BridgeUnavailable: it does not go.
    """
    with contextlib.suppress(OSError, http.client.HTTPException):
        ask(found.record, "POST", "api/v1/shutdown", {}, timeout=5)
    until = time.monotonic() + timeout
    while time.monotonic() < until:
        try:
            if hello(found.record).pid != found.hello.pid:
                return
        except BridgeSilent:
            # A successor of another secret, or the old one on its way out.
            with contextlib.suppress(BridgeAbsent, BridgeUnavailable):
                if read_record(found.record.folder).pid != found.hello.pid:
                    return
        except BridgeAbsent:
            if not is_alive(found.hello.pid):
                return
        except BridgeRecovering:
            pass
        time.sleep(_LOOK_EVERY)
    raise BridgeUnavailable(
        f"The Muster bridge (process {found.hello.pid}) does not exit.",
        fix=f"kill {found.hello.pid} (clusters go on), then try again",
        log=log_tail(found.record.folder),
    )


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was never reaped (state Z) does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return True
    return text.rpartition(b")")[2].split()[:1] != [b"Z"]


def _start(settings: BridgeSettings, runtime: Path, cancelled: threading.Event) -> FoundBridge:
    environ = clean_environment(settings.environ)
    argv = serve_command(settings, runtime)
    if settings.program is None:
        argv = [*scope_prefix(environ), *argv]
    log = runtime / folders.LOG_NAME
    rotate_log(log)
    before = log_size(runtime)
    birth = Birth(LaunchOrder(argv, log, environ))
    try:
        found = _watch(birth, settings, runtime, cancelled, before)
    except StartCancelled:
        birth.release()
        raise
    except BaseException:
        birth.kill()
        raise
    birth.release()
    return found


def _watch(
    birth: Birth,
    settings: BridgeSettings,
    runtime: Path,
    cancelled: threading.Event,
    before: int,
) -> FoundBridge:
    """Wait for the hello of the new bridge, or of another that was started at the same moment."""
    started_at = time.monotonic()
    sign_of_life = started_at
    reason = "nothing was found"
    while True:
        try:
            found = find(settings)
            if _is_ours(found, replace=False):
                return FoundBridge(found.record, found.hello, found.hello.pid == birth.pid)
            reason = f"an older bridge ({found.hello.version}) answers"
        except BridgeRecovering:
            sign_of_life = time.monotonic()
        except BridgeAbsent as error:
            reason = str(error)
        code = birth.exit_code()
        if code is not None and code != 0:
            how = f"exit code {code}" if code > 0 else f"signal {-code}"
            raise BridgeUnavailable(
                f"The Muster bridge ended while starting ({how}).",
                fix=f"see {runtime / folders.LOG_NAME}, or run `muster doctor`",
                log=log_tail(runtime, before),
                details={"exit": code},
            )
        # Exit code 0: another bridge has the lock and is about to listen; its hello is awaited.
        waited = time.monotonic() - sign_of_life
        if settings.start_timeout > 0 and waited > settings.start_timeout:
            raise BridgeUnavailable(
                f"The Muster bridge did not answer within {settings.start_timeout:g} s ({reason}).",
                fix="raise Muster.start_timeout where disks are slow, or run `muster doctor`",
                log=log_tail(runtime, before),
            )
        _pause(cancelled)


def _pause(cancelled: threading.Event) -> None:
    if cancelled.wait(_LOOK_EVERY):
        raise StartCancelled


def main(arguments: Sequence[str] | None = None) -> int:
    """``start [--json]``: the bridge's socket and pid on stdout, exit code 0; else the error, 1."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] != ["start"] or set(given[1:]) - {"--json"}:
        sys.stderr.write("usage: python -m jupyterlab_muster.bridge start [--json]\n")
        return 2
    try:
        found = find_or_start(BridgeSettings())
    except MusterError as error:
        if "--json" in given:
            sys.stdout.write(json.dumps(error.body()) + "\n")
        else:
            sys.stderr.write(f"{error}\n")
        return 1
    answer = {
        "socket": str(found.record.socket),
        "pid": found.hello.pid,
        "started": found.started,
        "version": found.hello.version,
    }
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
