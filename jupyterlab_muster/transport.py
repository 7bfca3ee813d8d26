"""HTTP and WebSocket to the bridge's socket, by tornado alone."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from typing import Any

from tornado.httpclient import HTTPRequest
from tornado.httputil import HTTPHeaders, parse_response_start_line
from tornado.netutil import Resolver
from tornado.simple_httpclient import SimpleAsyncHTTPClient
from tornado.websocket import WebSocketClientConnection, websocket_connect

from .record import BridgeRecord

#: Requests at one time; with tornado's own 10 a few followed logs would block the rest.
MAXIMUM_REQUESTS = 256
#: Seconds. Answers are streamed: this only bounds what nobody ever ends.
REQUEST_TIMEOUT = 3600.0
CONNECT_TIMEOUT = 5.0
#: Bytes. Bokeh sends whole documents in one message; past tornado's own 10 MiB it would close.
LARGEST_MESSAGE = 64 * 1024 * 1024
#: The socket has no host name; the bridge's gate knows this one.
ORIGIN = "localhost"


class SocketResolver(Resolver):
    """Every name is the bridge's socket."""

    def initialize(self, path: str) -> None:
        self._path = path

    async def resolve(
        self, host: str, port: int, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[tuple[int, Any]]:
        return [(socket.AF_UNIX, self._path)]

    def close(self) -> None:
        """Nothing is held."""


class Transport:
    """The way to one bridge; a new one for each record."""

    def __init__(self, record: BridgeRecord) -> None:
        self.record = record
        self._resolver = SocketResolver(path=str(record.socket))
        self._client = SimpleAsyncHTTPClient(
            force_instance=True,
            resolver=self._resolver,
            max_clients=MAXIMUM_REQUESTS,
            # A whole answer's length: dashboards and logs are streamed through, never held.
            max_body_size=1 << 40,
        )

    def close(self) -> None:
        self._client.close()

    async def fetch(
        self,
        method: str,
        path: str,
        headers: HTTPHeaders,
        body: bytes | None,
        on_head: Callable[[int, HTTPHeaders], None],
        on_chunk: Callable[[bytes], Awaitable[None] | None],
    ) -> None:
        """One request, its answer streamed: ``on_head`` once, then ``on_chunk``, each awaited.

        :raises OSError: the bridge is not there, or went away (before or amid the answer).
        :raises tornado.httpclient.HTTPError: code 599, timeouts and broken answers.
        """
        status = 0
        received = HTTPHeaders()

        def on_header(line: str) -> None:
            nonlocal status, received
            text = line.rstrip("\r\n")
            if text.startswith("HTTP/"):
                status = parse_response_start_line(text).code
                received = HTTPHeaders()
            elif text:
                received.parse_line(text)
            else:
                on_head(status, received)

        answer = await self._client.fetch(
            HTTPRequest(
                f"http://{ORIGIN}/{path.lstrip('/')}",
                method=method,
                headers=self._with_secret(headers),
                body=body,
                allow_nonstandard_methods=True,
                follow_redirects=False,
                decompress_response=False,
                connect_timeout=CONNECT_TIMEOUT,
                request_timeout=REQUEST_TIMEOUT,
                header_callback=on_header,
                # Awaited (since tornado 6.6): the bridge is read no faster than the browser reads.
                streaming_callback=on_chunk,
            ),
            raise_error=False,
        )
        if answer.code == 599 and answer.error is not None:
            raise answer.error

    async def dial(
        self, path: str, headers: HTTPHeaders, subprotocols: list[str]
    ) -> WebSocketClientConnection:
        """A WebSocket to the bridge.

        :raises OSError, tornado.httpclient.HTTPError, tornado.websocket.WebSocketError
        """
        return await websocket_connect(
            HTTPRequest(
                f"ws://{ORIGIN}/{path.lstrip('/')}",
                headers=self._with_secret(headers),
                connect_timeout=CONNECT_TIMEOUT,
                request_timeout=CONNECT_TIMEOUT,
            ),
            resolver=self._resolver,
            subprotocols=subprotocols or None,
            max_message_size=LARGEST_MESSAGE,
        )

    def _with_secret(self, headers: HTTPHeaders) -> HTTPHeaders:
        sent = headers.copy()
        sent["Authorization"] = f"Bearer {self.record.secret}"
        return sent
