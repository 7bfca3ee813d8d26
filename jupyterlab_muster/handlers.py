"""What all routes of ours share: one gate, JSON errors, no activity by looking (§10)."""

from __future__ import annotations

import json
from http.client import responses
from typing import TYPE_CHECKING, Any

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.extension.handler import ExtensionHandlerMixin
from tornado import web

from .errors import MusterError
from .version import PROTOCOL, VERSION

if TYPE_CHECKING:
    from .app import Muster

_LOOKING = {"GET", "HEAD", "OPTIONS"}


class MusterHandler(ExtensionHandlerMixin, JupyterHandler):
    """Base of every handler: who comes in is decided here and by Jupyter, deny by default."""

    #: For Jupyter's authorizers.
    auth_resource = "muster"

    @property
    def muster(self) -> Muster:
        app: Muster = self.settings["muster"]
        return app

    async def prepare(self, **_options: Any) -> None:
        # Anonymous: 403, never a redirect to a login page.
        await super().prepare(_redirect_to_login=False)
        if not self.check_origin() or self.is_foreign():
            raise web.HTTPError(403, "requests from other origins are refused")
        if self.request.method not in _LOOKING:
            # Polls and streams must not keep an idle server from being culled (jupyter_server
            # #1360); what a person asks to be done counts.
            self.update_activity()

    def update_activity(self) -> None:
        from jupyter_server._tz import utcnow

        if self.current_user is not None:
            self.settings["api_last_activity"] = utcnow()

    def is_foreign(self) -> bool:
        """A page of another site asks with the browser's cookies and without an Origin (S6)."""
        if self.request.headers.get("Origin") or self.token_authenticated:
            return False
        return self.request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none")

    def get_login_url(self) -> str:
        raise web.HTTPError(403)

    @property
    def content_security_policy(self) -> str:
        return f"{super().content_security_policy}; default-src 'none'"

    def send_error_body(self, error: MusterError) -> None:
        """Our own error, in the API's shape."""
        self.set_status(error.status)
        self.set_header("Content-Type", "application/json")
        self.set_header("Cache-Control", "no-store")
        self.finish(json.dumps(error.body()))

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Jupyter's shape, ``{message, reason}``: authentication, XSRF, what nobody foresaw."""
        self.set_header("Content-Type", "application/json")
        message = responses.get(status_code, "Unknown HTTP Error")
        reply: dict[str, Any] = {"message": message, "reason": None}
        error = (kwargs.get("exc_info") or (None, None))[1]
        if isinstance(error, web.HTTPError):
            reply["message"] = error.log_message or message
            reply["reason"] = error.reason
        self.finish(json.dumps(reply))

    def _log(self) -> None:
        # Jupyter logs each 503 as an error with all headers; "starting" is no error.
        if self.get_status() == 503:
            self.log.debug("503 %s %s", self.request.method, self.request.path)
        else:
            super()._log()


class HalfHandler(MusterHandler):
    """``GET muster/api/half``: this half's own handshake, answered whatever the bridge does."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        await self.muster.supervisor.attach()
        self.set_header("Content-Type", "application/json")
        self.set_header("Cache-Control", "no-store")
        self.finish(
            json.dumps(
                {
                    "version": VERSION,
                    "protocol": PROTOCOL,
                    "client": self.muster.client_id,
                    "bridge": self.muster.supervisor.view(),
                }
            )
        )


class RestartBridgeHandler(MusterHandler):
    """``POST muster/api/restart-bridge``: shut down and start anew; clusters are untouched."""

    @web.authenticated
    @authorized
    async def post(self) -> None:
        try:
            await self.muster.supervisor.restart()
        except MusterError as error:
            self.send_error_body(error)
            return
        self.set_status(202)
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps({"bridge": self.muster.supervisor.view()}))
