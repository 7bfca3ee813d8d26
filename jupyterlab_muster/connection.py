"""``connect`` and ``cluster`` for notebooks and programs (specs/api.md §4); needs only dask."""

from __future__ import annotations

import http.client
import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from .errors import BridgeUnavailable, MusterError
from .folders import runtime_folder
from .record import BridgeAbsent, ask, read_record

if TYPE_CHECKING:
    from distributed import Client

#: Seconds for one request. Stopping and scaling are only recorded while we wait.
TIMEOUT = 30.0
#: How many workers, or how much in all: 8, "64 GiB", {"cores": 64}.
Amount = int | str | Mapping[str, Any]
Request = Callable[[str, str, Any], tuple[int, Any]]


class Cluster:
    """A cluster by name or id; every method asks the bridge anew."""

    def __init__(self, name: str, request: Request | None = None) -> None:
        self._name = name
        self._request = request or bridge_request()

    def __repr__(self) -> str:
        return f"Cluster({self._name!r})"

    @property
    def view(self) -> dict[str, Any]:
        """What is (ClusterView of the API)."""
        view: dict[str, Any] = self._ask("GET", "")
        return view

    @property
    def name(self) -> str:
        return str(self.view["name"])

    @property
    def id(self) -> str:
        return str(self.view["id"])

    def connect(self, **options: Any) -> Client:
        """A ``distributed.Client``; options go to it."""
        try:
            from distributed import Client, Security
        except ImportError as error:
            raise ImportError(
                'connect() needs dask in this kernel: pip install "dask[distributed]"'
            ) from error
        connection = self._ask("GET", "/connection")
        files = connection.get("security")
        if files is not None and "security" not in options:
            options["security"] = Security(
                require_encryption=True,
                tls_ca_file=files["caFile"],
                tls_client_cert=files["certFile"],
                tls_client_key=files["keyFile"],
            )
        return Client(connection["address"], **options)

    def scale(
        self,
        workers: int | None = None,
        *,
        cores: int | None = None,
        memory: str | int | None = None,
        group: str | None = None,
    ) -> dict[str, Any]:
        """Keep a fixed size, said in workers, cores or memory ("1 TB"); the last word wins."""
        said = {"workers": workers, "cores": cores, "memory": memory}
        amount = {unit: value for unit, value in said.items() if value is not None}
        if len(amount) != 1:
            raise TypeError("scale() takes exactly one of workers, cores, memory")
        return self._rescale({"type": "fixed", **amount}, group)

    def adapt(
        self, minimum: Amount = 0, maximum: Amount | None = None, *, group: str | None = None
    ) -> dict[str, Any]:
        """Let the load decide, between two sizes: workers (8), memory ("1 TB") or {"cores": 64}."""
        if maximum is None:
            raise TypeError("adapt() needs a maximum, e.g. adapt(0, 8)")
        scale = {"type": "adaptive", "minimum": _amount(minimum), "maximum": _amount(maximum)}
        return self._rescale(scale, group)

    def stop(self, *, force: bool = False) -> None:
        """Stop the cluster; ``force`` gives up on what cannot be reached."""
        self._ask("DELETE", "?force=true" if force else "")

    def _rescale(self, scale: dict[str, Any], group: str | None) -> dict[str, Any]:
        view = self.view
        groups = [entry["name"] for entry in view["groups"]]
        if group is None:
            if len(groups) != 1:
                raise ValueError(
                    f"{view['name']} has the groups {', '.join(groups)}: say which, group=..."
                )
            group = groups[0]
        # By id: the name may be given to a successor meanwhile.
        changed: dict[str, Any] = self._ask(
            "PATCH", "", {"scale": {group: scale}}, cluster=view["id"]
        )
        return changed

    def _ask(self, method: str, rest: str, body: Any = None, cluster: str | None = None) -> Any:
        path = f"api/v1/clusters/{quote(cluster or self._name, safe='')}{rest}"
        return _checked(self._request(method, path, body))


def cluster(name: str | None = None) -> Cluster:
    """The cluster of that name or id; without one as in :func:`connect`."""
    request = bridge_request()
    return Cluster(name or _choose(request), request)


def connect(name: str | None = None, **options: Any) -> Client:
    """A ``distributed.Client`` of the cluster, with its certificates; options go to the client.

    Without a name: the notebook's own cluster (the panel leaves it in ``MUSTER_CLUSTER``), else the
    only running one.
    """
    return cluster(name).connect(**options)


def bridge_request() -> Request:
    """How to ask the bridge from here: through its socket, else through Jupyter's address.

    :raises BridgeUnavailable: neither is there.
    """
    reason = "no runtime folder"
    try:
        record = read_record(runtime_folder())
    except BridgeAbsent as error:
        reason = str(error)
    else:

        def over_socket(method: str, path: str, body: Any) -> tuple[int, Any]:
            try:
                return ask(record, method, path, body, timeout=TIMEOUT)
            except (OSError, http.client.HTTPException) as error:
                raise _unreachable(str(error)) from error

        # A record may be left over from a bridge that was killed.
        try:
            ask(record, "GET", "api/v1/health")
        except (OSError, http.client.HTTPException) as error:
            reason = str(error)
        else:
            return over_socket
    address = _jupyter_address()
    if address is None:
        raise _unreachable(reason)
    url, token = address

    def over_jupyter(method: str, path: str, body: Any) -> tuple[int, Any]:
        return _ask_jupyter(url, token, method, path, body)

    return over_jupyter


def _jupyter_address() -> tuple[str, str] | None:
    """(root of the relay, token): MUSTER_URL, or what Jupyter and JupyterHub leave in kernels."""
    token = (
        os.environ.get("MUSTER_TOKEN")
        or os.environ.get("JUPYTER_TOKEN")
        or os.environ.get("JUPYTERHUB_API_TOKEN")
    )
    url = os.environ.get("MUSTER_URL")
    if not url and os.environ.get("JUPYTER_SERVER_URL"):
        url = os.environ["JUPYTER_SERVER_URL"].rstrip("/") + "/muster/"
    if not url or not token:
        return None
    if not url.startswith(("http://", "https://")):
        raise BridgeUnavailable(f"MUSTER_URL is not an http address: {url}")
    return url.rstrip("/") + "/", token


def _ask_jupyter(url: str, token: str, method: str, path: str, body: Any) -> tuple[int, Any]:
    headers = {"Authorization": f"token {token}", "Accept": "application/json"}
    data = None
    if body is not None:
        data = json.dumps(body).encode()
        headers["Content-Type"] = "application/json"
    request = urllib.request.Request(  # noqa: S310 - checked to be http(s)
        url + path, data=data, headers=headers, method=method
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310
            text = answer.read()
            return answer.status, json.loads(text) if text else None
    except urllib.error.HTTPError as error:
        with error:
            text = error.read()
        try:
            return error.code, json.loads(text)
        except ValueError:
            return error.code, {"message": error.reason}
    except (OSError, ValueError) as error:
        raise _unreachable(f"{url}: {error}") from error


def _unreachable(reason: str) -> BridgeUnavailable:
    return BridgeUnavailable(
        f"No Muster bridge answers here ({reason}).",
        fix="open the Clusters panel in JupyterLab, or run `muster list` in a terminal of this "
        "host; elsewhere set MUSTER_URL and MUSTER_TOKEN",
    )


def _choose(request: Request) -> str:
    bound = os.environ.get("MUSTER_CLUSTER")
    if bound:
        return bound
    running = [view for view in _clusters(request) if view["phase"] == "running"]
    if len(running) == 1:
        return str(running[0]["id"])
    if not running:
        raise MusterError(
            "not-found",
            "No cluster is running.",
            hint="start one in the Clusters panel, or with `muster create`",
        )
    names = ", ".join(sorted(repr(view["name"]) for view in running))
    raise MusterError(
        "conflict", f"Several clusters are running: {names}.", hint="say which: connect('name')"
    )


def _clusters(request: Request) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    path = "api/v1/clusters"
    while True:
        page = _checked(request("GET", path, None))
        found.extend(page["items"])
        if not page.get("next"):
            return found
        path = f"api/v1/clusters?cursor={quote(str(page['next']), safe='')}"


def _amount(value: Amount) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    return {"memory": value} if isinstance(value, str) else {"workers": value}


def _checked(answer: tuple[int, Any]) -> Any:
    """The body of a good answer; the bridge's own error otherwise."""
    status, body = answer
    if status < 400:
        return body
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict):
        raise MusterError(
            str(error.get("code", "internal")),
            str(error.get("message", f"status {status}")),
            hint=error.get("hint"),
            details=error.get("details"),
            path=error.get("path"),
            status=status,
        )
    said = body.get("message") if isinstance(body, dict) else None
    raise MusterError("internal", f"Jupyter answered {status}: {said or body}", status=status)
