"""Telling the bridge that this Jupyter server is here (§9 "Clients"), and goodbye."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import http.client
import logging
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from .launch import rotate_log
from .record import BridgeRecord, ask
from .supervisor import Supervisor

#: Seconds; a registration lapses after 60.
INTERVAL = 20.0
#: Seconds for the goodbye: a server that stops waits for nobody.
GOODBYE_TIMEOUT = 3.0
#: Variables that go stale in a daemon: a new login has new ones.
REFRESHED = ("SSH_AUTH_SOCK", "KRB5CCNAME", "KUBECONFIG")


class Registration:
    """``PUT clients/{id}`` at once for each bridge found, then every 20 s."""

    def __init__(
        self,
        client_id: str,
        base_url: str,
        supervisor: Supervisor,
        kernelspecs: Callable[[], Awaitable[list[dict[str, Any]]]],
        log: logging.Logger,
    ) -> None:
        self._path = f"api/v1/clients/{client_id}"
        self._base_url = base_url
        self._supervisor = supervisor
        self._kernelspecs = kernelspecs
        self._log = log
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin; without a bridge nothing is sent and none is started."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def wake(self) -> None:
        """A bridge was found: say so now."""
        self._wake.set()

    async def stop(self) -> None:
        """Say goodbye, within three seconds; the bridge goes on."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        found = self._supervisor.found
        if found is None:
            return
        goodbye = functools.partial(
            ask, found.record, "DELETE", self._path, timeout=GOODBYE_TIMEOUT
        )
        with contextlib.suppress(OSError, http.client.HTTPException, asyncio.TimeoutError):
            await asyncio.wait_for(self._supervisor.run(goodbye), GOODBYE_TIMEOUT)

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            try:
                await self._say()
            except Exception:  # noqa: BLE001
                # One failed registration must not end the loop; the next comes in 20 s.
                self._log.warning("Muster: registering with the bridge failed", exc_info=True)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._wake.wait(), INTERVAL)

    async def _say(self) -> None:
        record = await self._supervisor.attach()
        if record is None:
            return
        body = {
            "pid": os.getpid(),
            "baseUrl": self._base_url,
            "python": sys.executable,
            "kernelspecs": await self._kernelspecs(),
            "environment": {name: os.environ[name] for name in REFRESHED if os.environ.get(name)},
        }
        await self._supervisor.run(functools.partial(self._put, record, body))

    def _put(self, record: BridgeRecord, body: dict[str, Any]) -> None:
        rotate_log(record.folder / "bridge.log")
        try:
            status, answer = ask(record, "PUT", self._path, body, timeout=5)
        except (OSError, http.client.HTTPException):
            self._supervisor.lost(record)
            return
        if status == 401:
            self._supervisor.lost(record)
        elif status >= 400 and status != 503:
            self._log.warning("Muster: the bridge refused this server's registration: %s", answer)
