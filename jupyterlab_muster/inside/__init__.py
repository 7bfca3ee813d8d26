"""What a batch system gave this program, and how long it may still run.

``from jupyterlab_muster import allocation, time_left`` works inside any job, without a bridge and
with the standard library only. The same rules as ``src/backends/allocation``, which the same
fixtures prove (specs/launchers-and-allocations.md §3-4).
"""

from __future__ import annotations

import os
import platform
import subprocess
import time
from pathlib import Path

from .deadline import time_left_from, time_queries
from .hostlist import Inconsistent, expand_counts, expand_host_list
from .model import (
    Allocation,
    AllocationError,
    Answer,
    Environment,
    Group,
    Here,
    Incomplete,
    IncompleteAllocation,
    InconsistentAllocation,
    Node,
    ReadFile,
    Run,
    TimeLeft,
)
from .read import detect as _detect
from .read import read_allocation

__all__ = [
    "Allocation",
    "AllocationError",
    "Answer",
    "Group",
    "IncompleteAllocation",
    "Inconsistent",
    "InconsistentAllocation",
    "Node",
    "TimeLeft",
    "allocation",
    "detect",
    "expand_counts",
    "expand_host_list",
    "time_left",
]

# A node file of a very large job is a few MiB.
_MOST_BYTES = 16 * 1024 * 1024
_TIMEOUT_SECONDS = 15


def detect(env: Environment | None = None) -> list[str]:
    """The batch systems around this program, the innermost first."""
    return _detect(os.environ if env is None else env)


def allocation(
    env: Environment | None = None,
    read_file: ReadFile | None = None,
    run: Run | None = None,
    kind: str | None = None,
) -> Allocation | None:
    """What the innermost batch system gave this program; None outside of any.

    With ``kind`` (one of ``detect()``) what an outer one gave, where allocations are nested.

    Files and variables are read, and without ``env`` the cpus this process itself may use; where
    they do not tell (Flux), the system's command is asked.
    Raises InconsistentAllocation where the texts contradict each other, and IncompleteAllocation
    where a file or command that knows cannot be read or asked here.
    """
    here = _here() if env is None else None
    env = os.environ if env is None else env
    read_file = _text_file if read_file is None else read_file
    run = _run if run is None else run
    answer = read_allocation(env, read_file, {}, here, kind)
    if isinstance(answer, Incomplete) and answer.asks:
        answers = {" ".join(argv): run(list(argv)) for argv in answer.asks}
        answer = read_allocation(env, read_file, answers, here, kind)
    if isinstance(answer, Incomplete):
        raise IncompleteAllocation(answer.kind, answer.id, answer.why)
    return answer


def time_left(
    env: Environment | None = None,
    read_file: ReadFile | None = None,
    run: Run | None = None,
    now: float | None = None,
) -> TimeLeft:
    """How long the job around this program may still run.

    Every manager around it is asked and the least counts. Never raises for what a command does:
    what nobody tells is ``seconds="unknown"``.
    """
    env = os.environ if env is None else env
    run = _run if run is None else run
    answers = {" ".join(query.argv): run(list(query.argv)) for query in time_queries(env)}
    return time_left_from(
        env,
        _text_file if read_file is None else read_file,
        answers,
        time.time() if now is None else now,
    )


def _here() -> Here:
    affinity = getattr(os, "sched_getaffinity", None)
    cpus = len(affinity(0)) if affinity is not None else (os.cpu_count() or 1)
    return Here(platform.node(), cpus)


def _text_file(path: str) -> str | None:
    file = Path(path)
    try:
        if not file.is_file() or file.stat().st_size > _MOST_BYTES:
            return None
        return file.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        # On another node, cleaned up, or not ours: the readers say so.
        return None


def _run(argv: list[str]) -> Answer:
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_SECONDS,
            env={**os.environ, "LC_ALL": "C"},
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return Answer(None, "", str(error))
    return Answer(
        done.returncode,
        done.stdout.decode("utf-8", "replace"),
        done.stderr.decode("utf-8", "replace"),
    )
