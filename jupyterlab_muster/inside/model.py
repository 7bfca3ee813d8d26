"""What a program inside a job can be told (``jupyterlab_muster.inside``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Environment = Mapping[str, str]
# The text of a file; None where it cannot be read.
ReadFile = Callable[[str], "str | None"]
Run = Callable[["list[str]"], "Answer"]
Answers = Mapping[str, "Answer"]


class AllocationError(Exception):
    """This program is in a job, but what the job has cannot be told."""

    def __init__(self, kind: str, job: str, why: str) -> None:
        super().__init__(f"{kind} job {job}: {why}")
        self.kind = kind
        self.job = job
        self.why = why


class InconsistentAllocation(AllocationError):
    """What the batch system says contradicts itself."""


class IncompleteAllocation(AllocationError):
    """A file or command that knows it cannot be read or asked here."""


@dataclass(frozen=True)
class Answer:
    """What a command gave back; ``rc`` is None where it could not be run."""

    rc: int | None
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Here:
    """This process: its host, and how many cpus its mask leaves it."""

    host: str
    cpus: int


@dataclass(frozen=True)
class Node:
    """One host of an allocation. None: not told, never 0 and never a guess."""

    host: str
    tasks: int | None = None
    cpus: int | None = None
    mem_bytes: int | None = None
    gpus: tuple[str, ...] | None = None

    def as_dict(self) -> dict[str, Any]:
        """As the TypeScript side writes it."""
        return {
            "host": self.host,
            "tasks": self.tasks,
            "cpus": self.cpus,
            "memBytes": self.mem_bytes,
            "gpus": None if self.gpus is None else list(self.gpus),
        }


@dataclass(frozen=True)
class Group:
    """One component of a heterogeneous job; every other allocation has exactly one."""

    id: str
    nodes: tuple[Node, ...]

    def as_dict(self) -> dict[str, Any]:
        """As the TypeScript side writes it."""
        return {"id": self.id, "nodes": [node.as_dict() for node in self.nodes]}


@dataclass(frozen=True)
class Allocation:
    """What the innermost batch system gave."""

    kind: str
    id: str
    nodes: tuple[Node, ...]
    groups: tuple[Group, ...] = ()
    incarnation: int | None = None
    array: tuple[str, str] | None = None
    node_file: str | None = None
    launch_node: str | None = None
    source: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """As the TypeScript side writes it."""
        groups = self.groups or (Group(self.id, self.nodes),)
        return {
            "kind": self.kind,
            "id": self.id,
            "incarnation": self.incarnation,
            "array": (
                None if self.array is None else {"id": self.array[0], "index": self.array[1]}
            ),
            "nodes": [node.as_dict() for node in self.nodes],
            "groups": [group.as_dict() for group in groups],
            "nodeFile": self.node_file,
            "launchNode": self.launch_node,
            "source": list(self.source),
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True)
class Incomplete:
    """Only these commands know; none: only a file that cannot be read here."""

    kind: str
    id: str
    why: str
    asks: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class TimeLeft:
    """How long this program may still run: the deadline is ``as_of + seconds``."""

    # None: no deadline. 0 is said only where the time is over.
    seconds: int | Literal["unknown"] | None
    source: str
    # Seconds since 1970. Prolog, grace and extensions move the deadline: ask again.
    as_of: float
    certainty: Literal["likely", "firm", "none"]
    # Past the limit, and still allowed to run for a little.
    in_grace: bool = False
