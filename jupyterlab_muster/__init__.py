"""Muster: Dask clusters from JupyterLab.

Imported by Jupyter servers, kernels and programs inside jobs alike, therefore the standard
library only; everything else is imported where it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .connection import Cluster as Cluster
    from .connection import cluster as cluster
    from .connection import connect as connect
    from .inside import allocation as allocation
    from .inside import time_left as time_left

__all__ = ["Cluster", "__version__", "allocation", "cluster", "connect", "time_left"]

_LAZY = {"Cluster", "cluster", "connect"}
_INSIDE = {"allocation", "time_left"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from . import connection

        return getattr(connection, name)
    if name in _INSIDE:
        from . import inside

        return getattr(inside, name)
    if name == "__version__":
        from .version import VERSION

        return VERSION
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Where a development install finds the browser half."""
    return [{"src": "labextension", "dest": "jupyterlab-muster"}]


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    """The server half, for Jupyter's extension manager."""
    from .app import Muster

    return [{"module": "jupyterlab_muster", "app": Muster}]
