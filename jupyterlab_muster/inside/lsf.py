"""An allocation of LSF, seen from inside."""

from __future__ import annotations

import re

from .hostlist import (
    Inconsistent,
    expand_indices,
    is_host_name,
    read_lsf_counts,
    read_lsf_hosts,
    read_node_file,
    shown,
)
from .model import Allocation, Environment, Node
from .values import Inside, matching, value, whole


def lsf_id(env: Environment) -> str | None:
    """The id of the LSF job around this program."""
    return matching(env, r"[1-9][0-9]{0,14}", "LSB_JOBID")


def read_lsf(job: str, inside: Inside) -> Allocation:
    """What the job has."""
    env = inside.env
    counts, listed = value(env, "LSB_MCPU_HOSTS"), value(env, "LSB_HOSTS")
    file_text = inside.file("LSB_DJOB_HOSTFILE")
    if counts is not None:
        name, all_entries = "LSB_MCPU_HOSTS", read_lsf_counts(counts)
    elif file_text is not None:
        name = "LSB_DJOB_HOSTFILE"
        all_entries = read_node_file(file_text, name)
    elif listed is not None:
        name, all_entries = "LSB_HOSTS", read_lsf_hosts(listed)
    else:
        raise Inconsistent("none of LSB_MCPU_HOSTS, LSB_DJOB_HOSTFILE and LSB_HOSTS names a host")
    affinity = inside.file("LSB_AFFINITY_HOSTFILE")
    cores = None if affinity is None else _read_affinity(affinity)
    entries, launch_node = _without_launch_node(all_entries, cores)
    total = sum(slots for _, slots in entries)
    told = whole(env, "LSB_DJOB_NUMPROC")
    warnings = (
        (f"LSB_DJOB_NUMPROC is {told}, {name} has {total} slots",)
        if told is not None and told not in (total, sum(slots for _, slots in all_entries))
        else ()
    )
    if cores is not None:
        for host, _ in entries:
            if host not in cores:
                raise Inconsistent(f"host {host} of {name} is not in LSB_AFFINITY_HOSTFILE")
    index = whole(env, "LSB_JOBINDEX")
    return Allocation(
        kind="lsf",
        id=job,
        array=(job, str(index)) if index else None,
        # Slots are not cores.
        nodes=tuple(
            Node(host, tasks=slots, cpus=None if cores is None else cores[host])
            for host, slots in entries
        ),
        node_file=None if file_text is None else value(env, "LSB_DJOB_HOSTFILE"),
        launch_node=launch_node,
        source=(name, *(() if cores is None else ("LSB_AFFINITY_HOSTFILE",))),
        warnings=warnings,
    )


def _without_launch_node(
    entries: list[tuple[str, int]], cores: dict[str, int] | None
) -> tuple[list[tuple[str, int]], str | None]:
    """Sites with separate launch nodes put one of them first, with a single slot."""
    (first, slots), *others = entries
    if slots != 1 or not others:
        return entries, None
    if cores is None:
        launches = re.match(r"(?:batch|launch|login)[0-9]*(?:\.|$)", first) is not None and all(
            count > 1 for _, count in others
        )
    else:
        launches = first not in cores and all(host in cores for host, _ in others)
    return (others, first) if launches else (entries, None)


def _read_affinity(text: str) -> dict[str, int]:
    cores: dict[str, int] = {}
    for line in text.split("\n"):
        words = line.split()
        if not words:
            continue
        if len(words) < 2 or not is_host_name(words[0]):
            raise Inconsistent(f"LSB_AFFINITY_HOSTFILE has the line '{shown(line)}'")
        cores[words[0]] = cores.get(words[0], 0) + len(expand_indices(words[1]))
    return cores
