"""``bridge.json`` and the hello: is there a bridge, and which (jupyterlab-extension.md §9)."""

from __future__ import annotations

import http.client
import json
import os
import socket
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import BridgeUnavailable
from .folders import RECORD_NAME, SOCKET_NAME

#: Seconds a living bridge has to answer the hello.
HELLO_TIMEOUT = 2.0
#: The record is about 400 bytes.
LARGEST_RECORD = 64 * 1024


@dataclass(frozen=True)
class BridgeRecord:
    """What a bridge writes about itself: where it is and the secret that opens it."""

    folder: Path
    pid: int
    secret: str
    version: str = ""
    protocol: int = 0

    @property
    def socket(self) -> Path:
        return self.folder / SOCKET_NAME


@dataclass(frozen=True)
class Hello:
    """The answer to ``GET api/v1/health``."""

    version: str
    protocol: int
    pid: int
    clusters: int
    body: dict[str, Any]


class BridgeAbsent(Exception):
    """No bridge answers; the text says what was found instead."""


class BridgeSilent(BridgeAbsent):
    """Something holds the socket but does not answer in time: busy, stopped, or not ours."""


class BridgeRecovering(Exception):
    """A bridge lives and is still loading its records."""


def read_record(folder: Path) -> BridgeRecord:
    """The record in the runtime folder.

    :raises BridgeAbsent: there is none, or it cannot be read as one.
    :raises BridgeUnavailable: others may read it: the secret is no secret (S15).
    """
    path = folder / RECORD_NAME
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise BridgeAbsent("no bridge.json") from error
    except OSError as error:
        raise BridgeAbsent(f"bridge.json: {error.strerror}") from error
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(file.fileno())
        if found.st_uid != os.geteuid() or not stat.S_ISREG(found.st_mode):
            raise BridgeUnavailable(
                f"{path} is not a file of yours and is refused.", fix=f"rm '{path}'"
            )
        if stat.S_IMODE(found.st_mode) & 0o077:
            raise BridgeUnavailable(
                f"Others may read {path}, which holds the bridge's secret.",
                fix=f"chmod 600 '{path}', then `muster shutdown`: the next bridge has a new secret",
            )
        text = file.read(LARGEST_RECORD)
    try:
        record = json.loads(text)
        return BridgeRecord(
            folder=folder,
            pid=int(record["pid"]),
            secret=str(record["secret"]),
            version=str(record.get("version", "")),
            protocol=int(record.get("protocol", 0)),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BridgeAbsent("bridge.json is damaged") from error


class SocketConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(self.timeout)
            connection.connect(os.fspath(self._path))
        except BaseException:
            connection.close()
            raise
        self.sock = connection


def ask(
    record: BridgeRecord,
    method: str,
    path: str,
    body: Any = None,
    *,
    timeout: float = HELLO_TIMEOUT,
    headers: dict[str, str] | None = None,
) -> tuple[int, Any]:
    """(status, JSON) of one request over the socket.

    :raises OSError, http.client.HTTPException: nothing answers, or not in HTTP.
    """
    connection = SocketConnection(record.socket, timeout)
    sent = {"Authorization": f"Bearer {record.secret}", "Accept": "application/json"}
    sent.update(headers or {})
    data = None
    if body is not None:
        data = json.dumps(body).encode()
        sent["Content-Type"] = "application/json"
    try:
        connection.request(method, "/" + path.lstrip("/"), body=data, headers=sent)
        response = connection.getresponse()
        text = response.read()
    finally:
        connection.close()
    try:
        return response.status, json.loads(text) if text else None
    except ValueError as error:
        raise http.client.HTTPException(f"not JSON: {text[:80]!r}") from error


def hello(record: BridgeRecord, timeout: float = HELLO_TIMEOUT) -> Hello:
    """Who answers at the socket.

    :raises BridgeAbsent: nobody, or something that is no bridge of ours.
    :raises BridgeRecovering: a bridge that is not ready yet.
    """
    try:
        status, body = ask(record, "GET", "api/v1/health", timeout=timeout)
    except (TimeoutError, BlockingIOError) as error:
        raise BridgeSilent(f"no answer within {timeout:.0f} s") from error
    except (OSError, http.client.HTTPException) as error:
        raise BridgeAbsent(str(error) or type(error).__name__) from error
    if status == 503 and isinstance(body, dict):
        code = (body.get("error") or {}).get("code")
        if code == "bridge-starting":
            raise BridgeRecovering("the bridge is loading its records")
    if status == 401:
        raise BridgeSilent("a bridge answers but does not know the secret of bridge.json")
    try:
        if status != 200:
            raise ValueError(f"status {status}")
        clusters = body["clusters"]
        return Hello(
            version=str(body["version"]),
            protocol=int(body["protocol"]),
            pid=int(body["pid"]),
            clusters=clusters if isinstance(clusters, int) else len(clusters),
            body=body,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise BridgeAbsent(f"something else answers at the socket ({error})") from error
