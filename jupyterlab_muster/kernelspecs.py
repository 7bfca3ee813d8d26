"""From kernelspecs to interpreters that also exist outside this server (specs/api.md §1)."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_PYTHON = re.compile(r"^python(\d+(\.\d+)*)?$")
#: What jupyter_client itself replaces by its own interpreter.
_BARE = {
    "python",
    f"python{sys.version_info[0]}",
    "python" + ".".join(map(str, sys.version_info[:2])),
}
#: The bridge's limit (src/protocol/api.ts).
MOST = 500


def interpreter(argv: Sequence[str], variables: Mapping[str, str] | None = None) -> str | None:
    """The absolute interpreter a Python kernelspec starts; None where it cannot be told.

    A bare "python" means the one this server runs on, as in jupyter_client.
    """
    words = list(argv)
    if "nb_conda_kernels.runner" in words:
        # python -m nb_conda_kernels.runner <conda prefix> <environment> python ...
        rest = words[words.index("nb_conda_kernels.runner") + 1 :]
        return str(Path(rest[1]) / "bin" / "python") if len(rest) > 1 else None
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if "=" not in word and not word.startswith("-")]
    if not words or not _PYTHON.match(Path(words[0]).name):
        return None
    first = words[0]
    if Path(first).is_absolute():
        return first
    if first in _BARE:
        return sys.executable
    path = (variables or {}).get("PATH", os.environ.get("PATH", os.defpath))
    found = shutil.which(first, path=os.path.expandvars(path))
    return str(Path(found).absolute()) if found else None


def kernelspec_views(specs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What ``PUT clients/{id}`` carries, of the answer of KernelSpecManager.get_all_specs()."""
    views = []
    for name, entry in sorted(specs.items()):
        spec = entry.get("spec") or {}
        language = str(spec.get("language") or "")
        python = None
        if language.lower() == "python":
            python = interpreter(spec.get("argv") or [], spec.get("env"))
        views.append(
            {
                "name": name[:255],
                "displayName": str(spec.get("display_name") or name)[:255],
                "language": language[:64],
                "python": python,
            }
        )
    return views[:MOST]
