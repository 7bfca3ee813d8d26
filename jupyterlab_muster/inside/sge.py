"""An allocation of Grid Engine, seen from inside."""

from __future__ import annotations

import re

from .hostlist import Inconsistent, is_host_name, shown
from .model import Allocation, Environment, Node
from .values import Ask, Inside, matching, value, whole


def sge_id(env: Environment) -> str | None:
    """The id of the Grid Engine job; JOB_ID alone is anybody's."""
    ours = value(env, "SGE_ROOT") is not None or value(env, "SGE_TASK_ID") is not None
    return matching(env, r"[1-9][0-9]{0,9}", "JOB_ID") if ours else None


def read_sge(job: str, inside: Inside) -> Allocation | Ask:
    """What the job has."""
    env = inside.env
    task = value(env, "SGE_TASK_ID")
    array = None if task is None or task == "undefined" else (job, task)
    if array is not None and re.fullmatch(r"[1-9][0-9]{0,9}", array[1]) is None:
        raise Inconsistent(f"SGE_TASK_ID='{shown(array[1])}'")
    slots = whole(env, "NSLOTS")
    restarted = whole(env, "RESTARTED")
    text = inside.file("PE_HOSTFILE")
    if text is None:
        host = value(env, "HOSTNAME")
        if value(env, "PE_HOSTFILE") is not None and slots != 1:
            return Ask("the file of PE_HOSTFILE cannot be read")
        if host is None or not is_host_name(host):
            raise Inconsistent("neither PE_HOSTFILE nor HOSTNAME names a host")
        count = 1 if slots is None else slots
        if count < 1:
            raise Inconsistent("NSLOTS is 0")
        return Allocation(
            kind="sge",
            id=job,
            incarnation=restarted,
            array=array,
            nodes=(Node(host, tasks=count, cpus=count),),
            source=("HOSTNAME", *(() if slots is None else ("NSLOTS",))),
        )
    entries = _read_pe_host_file(text)
    total = sum(one[0] for one in entries.values())
    warnings = (
        (f"NSLOTS is {slots}, PE_HOSTFILE has {total} slots; the file counts",)
        if slots is not None and slots != total
        else ()
    )
    return Allocation(
        kind="sge",
        id=job,
        incarnation=restarted,
        array=array,
        nodes=tuple(
            Node(host, tasks=count, cpus=count if cores is None else cores)
            for host, (count, cores) in entries.items()
        ),
        source=("PE_HOSTFILE",),
        warnings=warnings,
    )


def _read_pe_host_file(text: str) -> dict[str, tuple[int, int | None]]:
    """``host slots queue binding``; a host may have a line per queue."""
    entries: dict[str, tuple[int, int | None]] = {}
    for line in text.split("\n"):
        words = line.split()
        if not words:
            continue
        slots = words[1] if len(words) > 1 else ""
        if not is_host_name(words[0]) or re.fullmatch(r"[1-9][0-9]{0,6}", slots) is None:
            raise Inconsistent(f"PE_HOSTFILE has the line '{shown(line)}'")
        binding = words[3] if len(words) > 3 else "UNDEFINED"
        bound = re.fullmatch(r"[0-9]+,[0-9]+(:[0-9]+,[0-9]+)*", binding)
        cores = len(binding.split(":")) if bound else None
        before = entries.get(words[0])
        if before is not None:
            both = before[1] is not None and cores is not None
            cores = (before[1] or 0) + (cores or 0) if both else None
        entries[words[0]] = (int(slots) + (before[0] if before else 0), cores)
    if not entries:
        raise Inconsistent("the file of PE_HOSTFILE is empty")
    return entries
