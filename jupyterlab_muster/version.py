"""Which Muster this is."""

from __future__ import annotations

import re

#: The integer that blocks: a bridge of another protocol is not spoken to (src/protocol/api.ts).
PROTOCOL = 1


def _installed() -> str:
    try:
        # Written by the build (hatch-build-hooks), absent in a tree that was never installed.
        from ._version import __version__
    except ImportError:
        return "0.0.0"
    return str(__version__)


#: Of the package, as npm and pip show it; only ever shown or compared for "older than".
VERSION = _installed()


def is_older(version: str, than: str) -> bool:
    """Whether one release is older than another; of versions that cannot be read: no."""
    first, second = _release(version), _release(than)
    return first is not None and second is not None and first < second


def _release(version: str) -> tuple[int, ...] | None:
    found = re.match(r"v?(\d+(?:\.\d+)*)", version)
    return tuple(int(part) for part in found.group(1).split(".")) if found else None
