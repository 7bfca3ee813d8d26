"""What lies below a dashboard's ticket (src/bridge/api/dashboards.ts)."""

from __future__ import annotations

from jupyter_server.auth.decorator import allow_unauthenticated

from .errors import BridgeStarting
from .record import BridgeRecord
from .relay import RelayHandler


class TicketRelayHandler(RelayHandler):
    """Dashboards below a ticket, ``dashboards/{id}/~{ticket}/…``: one cluster, reading, minutes.

    Pages there have an opaque origin and no cookies (S5, S7); the bridge, which gave the ticket to
    somebody who was signed in, checks it for each request. Nobody starts a bridge this way.
    """

    SUPPORTED_METHODS = ("GET", "HEAD")
    ticketed = True

    @allow_unauthenticated
    async def get(self, path: str) -> None:
        if self.request.headers.get("Upgrade", "").lower() == "websocket":
            await self._upgrade()
        else:
            await self._relay()

    @allow_unauthenticated
    async def head(self, path: str) -> None:
        await self._relay()

    async def _bridge(self) -> BridgeRecord:
        found = self.muster.supervisor.found
        if found is None:
            raise BridgeStarting(0, "There is no Muster bridge at the moment; open the pane anew.")
        return found.record

    def check_origin(self, origin: str | None = None) -> bool:
        """The page's origin is opaque ("null"); a ticket is not sent along by a browser itself."""
        return True

    def is_foreign(self) -> bool:
        return False

    def _log(self) -> None:
        # The path holds the ticket.
        self.log.debug("%d %s dashboard", self.get_status(), self.request.method)
