"""The bridge as one Jupyter server sees it: found or started once for all who ask (§9)."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, TypeVar

from .bridge import (
    BridgeSettings,
    FoundBridge,
    StartCancelled,
    find,
    find_or_start,
    find_ours,
    shut_down,
)
from .errors import BridgeStarting, BridgeUnavailable, MusterError
from .folders import runtime_folder
from .launch import log_tail
from .record import BridgeAbsent, BridgeRecord, BridgeRecovering

T = TypeVar("T")
State = Literal["absent", "starting", "running", "failed"]

#: Seconds between two tries after failures: doubling, capped.
FIRST_RETRY = 1.0
LAST_RETRY = 60.0


class Supervisor:
    """Holds the living bridge, starts one when somebody asks and there is none."""

    def __init__(self, settings: Callable[[], BridgeSettings], log: logging.Logger) -> None:
        self._settings = settings
        self._log = log
        self._found: FoundBridge | None = None
        self._task: asyncio.Task[FoundBridge] | None = None
        self._since = 0.0
        self._error: MusterError | None = None
        self._failures = 0
        self._retry_at = 0.0
        self._cancelled = threading.Event()
        self._threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="muster")
        self._closed = False
        #: Called with each newly found bridge, from the event loop.
        self.on_found: Callable[[FoundBridge], None] | None = None

    @property
    def state(self) -> State:
        if self._task is not None:
            return "starting"
        if self._found is not None:
            return "running"
        return "failed" if self._error is not None else "absent"

    @property
    def found(self) -> FoundBridge | None:
        """The bridge last spoken to; it may have ended since."""
        return self._found

    @property
    def seconds(self) -> float:
        """How long the present start takes already."""
        return time.monotonic() - self._since if self._task is not None else 0.0

    async def bridge(self, wait: float = 0.0) -> BridgeRecord:
        """The bridge, started if need be; waits up to ``wait`` seconds for it.

        :raises BridgeStarting: not there yet, ask again.
        :raises BridgeUnavailable: it cannot be started.
        """
        if self._found is not None:
            return self._found.record
        if self._task is None:
            if self._error is not None and time.monotonic() < self._retry_at:
                raise self._error
            self._begin(replace=False)
        assert self._task is not None
        try:
            found = await asyncio.wait_for(asyncio.shield(self._task), max(wait, 0.001))
        except asyncio.TimeoutError as error:
            raise BridgeStarting(self.seconds) from error
        except asyncio.CancelledError:
            if self._closed:
                raise _closing() from None
            raise
        return found.record

    async def attach(self) -> BridgeRecord | None:
        """The living bridge, without starting one."""
        if self._found is None and self._task is None and not self._closed:
            try:
                found = await self._in_thread(functools.partial(find_ours, self._settings()))
            except (BridgeAbsent, BridgeRecovering):
                return None
            except MusterError as error:
                # Shown by the handshake; the next request looks again at once.
                self._error = self._error or error
                return None
            if self.state not in ("starting", "running"):
                self._take(found)
        return self._found.record if self._found is not None else None

    def lost(self, record: BridgeRecord) -> None:
        """That bridge does not answer any more: absent, and the next request starts one."""
        if self._found is not None and self._found.record == record:
            self._found = None

    async def restart(self) -> None:
        """Ask the living bridge to exit and start anew; clusters are untouched. Returns at once."""
        self._error = None
        self._failures = 0
        self._retry_at = 0.0
        if self._task is None:
            self._found = None
            self._begin(replace=True)

    def view(self) -> dict[str, Any]:
        """``{state, seconds, log, error?}`` for the panel's cards."""
        answer: dict[str, Any] = {"state": self.state, "seconds": round(self.seconds, 1), "log": ""}
        if self._found is not None and self._task is None:
            answer["version"] = self._found.hello.version
            answer["pid"] = self._found.hello.pid
        if self.state in ("starting", "failed"):
            try:
                settings = self._settings()
                answer["log"] = log_tail(runtime_folder(settings.runtime_dir, settings.environ))
            except MusterError as error:
                answer["log"] = str(error)
        if self.state == "failed" and self._error is not None:
            answer["error"] = self._error.body()["error"]
            answer["retrySeconds"] = round(max(0.0, self._retry_at - time.monotonic()), 1)
        return answer

    async def run(self, work: Callable[[], T]) -> T:
        """Blocking work in one of our threads."""
        return await self._in_thread(work)

    def close(self) -> None:
        """Stop waiting for a start in progress; a bridge already started goes on."""
        self._closed = True
        self._cancelled.set()
        if self._task is not None:
            self._task.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _begin(self, *, replace: bool) -> None:
        if self._closed:
            raise _closing()
        self._since = time.monotonic()
        self._task = asyncio.get_running_loop().create_task(self._start(replace))
        # Nobody may be waiting: the failure is kept in _error.
        self._task.add_done_callback(_look_at)

    async def _start(self, replace: bool) -> FoundBridge:
        try:
            found = await self._in_thread(functools.partial(self._find_or_start, replace))
        except StartCancelled as error:
            self._task = None
            raise _closing() from error
        except MusterError as error:
            self._fail(error)
            raise
        except asyncio.CancelledError:
            self._task = None
            raise
        except Exception as error:
            self._log.exception("Muster: starting the bridge failed")
            failure = BridgeUnavailable(f"The Muster bridge cannot be started: {error}")
            self._fail(failure)
            raise failure from error
        self._task = None
        self._take(found)
        return found

    def _find_or_start(self, replace: bool) -> FoundBridge:
        settings = self._settings()
        if replace:
            with contextlib.suppress(BridgeAbsent, BridgeRecovering):
                shut_down(find(settings))
        return find_or_start(settings, cancelled=self._cancelled)

    def _take(self, found: FoundBridge) -> None:
        self._found = found
        self._error = None
        self._failures = 0
        self._log.info(
            "Muster: %s bridge %s (process %d)",
            "started" if found.started else "attached to",
            found.hello.version,
            found.hello.pid,
        )
        if self.on_found is not None:
            self.on_found(found)

    def _fail(self, error: MusterError) -> None:
        self._task = None
        self._error = error
        self._failures += 1
        delay = min(LAST_RETRY, FIRST_RETRY * 2 ** (self._failures - 1))
        self._retry_at = time.monotonic() + delay
        # Once per try, and tries are far apart: a polling panel must not flood the log.
        self._log.warning("Muster: %s", error)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def _closing() -> BridgeUnavailable:
    return BridgeUnavailable("The Jupyter server is shutting down.")


def _look_at(task: asyncio.Task[FoundBridge]) -> None:
    """asyncio complains about failures nobody looked at; this one is kept and shown."""
    if not task.cancelled():
        task.exception()
