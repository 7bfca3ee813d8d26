"""The relay to the bridge: HTTP, WebSocket, dashboards (jupyterlab-extension.md §8, §10)."""

from __future__ import annotations

import asyncio
import contextlib
import json
from urllib.parse import parse_qsl, urlencode, urlsplit

from jupyter_server.auth.decorator import authorized, ws_authenticated
from jupyter_server.base.websocket import WebSocketMixin
from jupyter_server.utils import url_path_join
from tornado import web
from tornado.httpclient import HTTPError as ClientError
from tornado.httputil import HTTPHeaders
from tornado.iostream import StreamClosedError
from tornado.websocket import (
    WebSocketClientConnection,
    WebSocketClosedError,
    WebSocketError,
    WebSocketHandler,
)

from .errors import BridgeStarting, BridgeUnavailable, MusterError
from .handlers import MusterHandler
from .record import BridgeRecord

#: Bytes of a request's body; the bridge has the same limit (S23).
LARGEST_BODY = 1024 * 1024
#: Bytes of one WebSocket message from the browser.
LARGEST_BROWSER_MESSAGE = 1024 * 1024
#: Seconds a request waits for a bridge on its way before it answers "starting".
WAIT_FOR_BRIDGE = 1.0
#: "Service restart": the browser comes again by itself.
CLOSE_BRIDGE_DIED = 1012

#: What the bridge may see of a request. Never Cookie, Authorization, Host, Origin.
_REQUEST_HEADERS = (
    "Accept",
    "Accept-Encoding",
    "Content-Type",
    "Idempotency-Key",
    "If-Modified-Since",
    "If-None-Match",
)
#: What the browser may see of an answer. Never Set-Cookie.
_ANSWER_HEADERS = (
    "Cache-Control",
    "Content-Disposition",
    "Content-Encoding",
    "Content-Type",
    "ETag",
    "Last-Modified",
    "Retry-After",
    "Vary",
    "X-Next-Offset",
)
#: Of dashboards besides: the bridge confines the page, its policy replaces Jupyter's (S5).
_PAGE_HEADERS = (
    "Accept-Ranges",
    "Content-Range",
    "Content-Security-Policy",
    "Cross-Origin-Opener-Policy",
    "Expires",
    "Referrer-Policy",
    "X-Content-Type-Options",
)
#: Of requests to dashboards besides. The last two let the bridge refuse service workers.
_PAGE_REQUEST_HEADERS = (
    "Accept-Language",
    "Cache-Control",
    "Range",
    "Sec-Fetch-Dest",
    "Service-Worker",
)
#: Where the bridge sends no policy for a dashboard, it is confined all the same.
_FALLBACK_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' "
    "'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'self'; form-action 'none'; base-uri 'none'"
)
#: Errors that mean "the bridge is not there", as opposed to an answer of it.
_GONE = (OSError, StreamClosedError)


class RelayHandler(WebSocketMixin, WebSocketHandler, MusterHandler):
    """One request or WebSocket, passed on to the same path of the bridge."""

    #: A dashboard: looking at it and working in it is no activity of a kernel's user.
    page = False
    #: Below a ticket of the bridge: its holder is not asked who he is.
    ticketed = False

    def initialize(self, name: str, page: bool = False) -> None:
        super().initialize(name)
        self.page = page
        self._dialled: WebSocketClientConnection | None = None
        self._pump: asyncio.Task[None] | None = None
        self._head_sent = False
        self._refused = False

    async def prepare(self, **_options: object) -> None:
        await MusterHandler.prepare(self)

    def update_activity(self) -> None:
        if not self.page:
            super().update_activity()

    # -- HTTP ---------------------------------------------------------------------------------

    # Signed in and authorized, each of them: Jupyter looks for the decorators at load time.
    @ws_authenticated
    @authorized
    async def get(self, path: str) -> None:
        if self.request.headers.get("Upgrade", "").lower() == "websocket":
            await self._upgrade()
        else:
            await self._relay()

    @web.authenticated
    @authorized
    async def head(self, path: str) -> None:
        await self._relay()

    @web.authenticated
    @authorized
    async def post(self, path: str) -> None:
        await self._relay()

    @web.authenticated
    @authorized
    async def put(self, path: str) -> None:
        await self._relay()

    @web.authenticated
    @authorized
    async def patch(self, path: str) -> None:
        await self._relay()

    @web.authenticated
    @authorized
    async def delete(self, path: str) -> None:
        await self._relay()

    async def _relay(self) -> None:
        if len(self.request.body) > LARGEST_BODY:
            self.send_error_body(
                MusterError("too-large", f"a request may have {LARGEST_BODY} bytes at most")
            )
            return
        try:
            await self._pass_on()
        except MusterError as error:
            if self._head_sent:
                self._cut()
            else:
                self.send_error_body(error)

    async def _pass_on(self) -> None:
        for last in (False, True):
            record = await self._bridge()
            self._refused = False
            try:
                await self.muster.transport(record).fetch(
                    self._method(),
                    self._target(),
                    self._sent_headers(),
                    self._body(),
                    self._begin if last else self._begin_or_refuse,
                    self._chunk,
                )
            except (ConnectionRefusedError, FileNotFoundError) as error:
                # Nothing was sent: safe to try again with a new bridge.
                self.muster.supervisor.lost(record)
                if last:
                    raise BridgeStarting(0) from error
                continue
            except (*_GONE, ClientError) as error:
                await self._broken(record, error)
                return
            if self._refused:
                # 401: not this bridge's secret, it was replaced behind our back.
                self.muster.supervisor.lost(record)
                continue
            self.finish()
            return

    async def _broken(self, record: BridgeRecord, error: Exception) -> None:
        """The bridge went away amid a request; whether it did what was asked is not known."""
        if self._is_left():
            return
        if isinstance(error, ClientError) and "imeout" in str(error):
            raise BridgeUnavailable("The Muster bridge does not answer in time.") from error
        self.muster.supervisor.lost(record)
        raise BridgeStarting(
            0, "The Muster bridge went away while it was answering; it is started again."
        ) from error

    async def _bridge(self) -> BridgeRecord:
        return await self.muster.supervisor.bridge(WAIT_FOR_BRIDGE)

    def _is_left(self) -> bool:
        """The browser closed the connection."""
        stream = getattr(self.request.connection, "stream", None)
        return stream is None or bool(stream.closed())

    def _begin_or_refuse(self, status: int, headers: HTTPHeaders) -> None:
        if status == 401 and not self.ticketed:
            self._refused = True
        else:
            self._begin(status, headers)

    def _begin(self, status: int, headers: HTTPHeaders) -> None:
        if status == 401 and not self.ticketed:
            # The browser is signed in; it is this half that the bridge does not know.
            status = 503
        self.set_status(status)
        self.clear_header("Content-Type")
        for name in _ANSWER_HEADERS + (_PAGE_HEADERS if self.page else ()):
            if name in headers:
                self.set_header(name, headers[name])
        if self.page and "Content-Security-Policy" not in headers:
            self.set_header("Content-Security-Policy", _FALLBACK_POLICY)
        self.set_header("X-Content-Type-Options", "nosniff")
        if "Location" in headers:
            self.set_header("Location", self._location(headers["Location"]))
        self._head_sent = True

    def _chunk(self, chunk: bytes) -> asyncio.Future[None] | None:
        if self._refused or self.request.method == "HEAD":
            return None
        self.write(chunk)
        return self.flush()

    def _cut(self) -> None:
        """End an answer that was begun so that the browser sees it is not whole."""
        stream = getattr(self.request.connection, "stream", None)
        if stream is not None:
            stream.close()
        self._auto_finish = False

    def _method(self) -> str:
        assert self.request.method is not None
        return self.request.method

    def _body(self) -> bytes | None:
        return (
            self.request.body
            if self.request.body or self._method() in ("POST", "PUT", "PATCH")
            else None
        )

    def _target(self) -> str:
        """The same path at the bridge. A token in the query is Jupyter's and stays here (§14)."""
        # Not the handler's argument: that one is decoded, and %2F must stay %2F.
        raw = urlsplit(self.request.uri or "").path
        root = url_path_join(self.base_url, "muster")
        target = raw[len(root) :] if raw.startswith(root + "/") else "/"
        query = [
            (key, value)
            for key, value in parse_qsl(self.request.query, keep_blank_values=True)
            if key not in ("token", "_xsrf", "no_track_activity")
            # JupyterLab puts the time behind every address that must not come from a cache.
            and (self.page or value or not key.isdigit())
        ]
        return target + (f"?{urlencode(query)}" if query else "")

    def _sent_headers(self) -> HTTPHeaders:
        sent = HTTPHeaders({"X-Muster-Client": self.muster.client_id})
        if self.page and not self.ticketed:
            # We let what lies below a ticket through without cookies (dashboards.ts).
            sent["X-Muster-Tickets"] = "yes"
        for name in _REQUEST_HEADERS + (_PAGE_REQUEST_HEADERS if self.page else ()):
            if name in self.request.headers:
                sent[name] = self.request.headers[name]
        return sent

    def _location(self, location: str) -> str:
        parts = urlsplit(location)
        if parts.scheme or parts.netloc:
            return self.base_url
        return url_path_join(self.base_url, "muster", location) if location[:1] == "/" else location

    # -- WebSocket ----------------------------------------------------------------------------

    async def _upgrade(self) -> None:
        # The bridge is dialled before the browser is accepted, so that a failed dial is an HTTP
        # answer and no message is lost (jupyter-server-proxy #459).
        try:
            self._dialled = await self._dial()
        except MusterError as error:
            self.send_error_body(error)
            return
        except ClientError as error:
            self._refuse(error)
            return
        await WebSocketHandler.get(self)

    async def _dial(self) -> WebSocketClientConnection:
        for last in (False, True):
            record = await self._bridge()
            try:
                return await self.muster.transport(record).dial(
                    self._target(), self._sent_headers(), self._offered()
                )
            except ClientError as error:
                if error.code != 401 or last or self.ticketed:
                    raise
                self.muster.supervisor.lost(record)
            except (*_GONE, WebSocketError) as error:
                self.muster.supervisor.lost(record)
                if last:
                    raise BridgeStarting(0) from error
        raise AssertionError("unreachable")

    def _refuse(self, error: ClientError) -> None:
        """The bridge's own answer to an upgrade it did not accept."""
        ours = error.code == 401 and not self.ticketed
        status = error.code if 400 <= error.code < 599 and not ours else 503
        body = error.response.body if error.response is not None else b""
        self.set_status(status)
        self.set_header("Content-Type", "application/json")
        if not body:
            body = json.dumps(
                MusterError(
                    "not-found" if status == 404 else "bridge-unavailable",
                    f"The bridge refused the connection: {error.message}",
                ).body()
            ).encode()
        self.finish(body)

    def _offered(self) -> list[str]:
        header = self.request.headers.get("Sec-WebSocket-Protocol", "")
        return [name.strip() for name in header.split(",") if name.strip()]

    def select_subprotocol(self, subprotocols: list[str]) -> str | None:
        # Bokeh offers "bokeh" and a token; only what its server chose may be answered.
        return self._dialled.selected_subprotocol if self._dialled is not None else None

    @property
    def max_message_size(self) -> int:
        return LARGEST_BROWSER_MESSAGE

    def get_compression_options(self) -> None:
        return None

    def open(self, *args: str, **kwargs: str) -> None:
        super().open(*args, **kwargs)
        self.set_nodelay(True)
        self.muster.sockets.add(self)
        self._pump = asyncio.get_running_loop().create_task(self._to_browser())

    async def _to_browser(self) -> None:
        """One message at a time: while the browser does not read, neither do we (back-pressure)."""
        bridge = self._dialled
        assert bridge is not None
        with contextlib.suppress(WebSocketClosedError, StreamClosedError):
            while True:
                message = await bridge.read_message()
                if message is None:
                    break
                await self.write_message(message, binary=isinstance(message, bytes))
        code = bridge.close_code
        bridge.close()
        # 1005 and 1006 cannot be sent; they and silence mean that the bridge died.
        proper = code is not None and 1000 <= code < 5000 and code not in (1004, 1005, 1006, 1015)
        self.close(code if proper else CLOSE_BRIDGE_DIED, bridge.close_reason if proper else None)

    async def on_message(self, message: str | bytes) -> None:
        if self._dialled is None:
            return
        try:
            await self._dialled.write_message(message, binary=isinstance(message, bytes))
        except (WebSocketClosedError, StreamClosedError):
            self.close(CLOSE_BRIDGE_DIED)

    def on_close(self) -> None:
        self.muster.sockets.discard(self)
        self._hang_up(self.close_code)
        super().on_close()

    def on_finish(self) -> None:
        # Refused after our dial, e.g. for its origin: the dialled socket must not stay.
        if self.ws_connection is None:
            self._hang_up(None)
        super().on_finish()

    def _hang_up(self, code: int | None) -> None:
        dialled, self._dialled = self._dialled, None
        if dialled is not None:
            dialled.close(code if code in (1000, 1001) else 1001)
        if self._pump is not None and self._pump is not asyncio.current_task():
            self._pump.cancel()
