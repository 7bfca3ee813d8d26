"""An allocation of Flux, seen from inside."""

from __future__ import annotations

import json

from .hostlist import Inconsistent, expand_host_list, expand_indices
from .model import Allocation, Environment, Node
from .values import Ask, Inside, matching, value, whole

_FLUX_ID = (
    r"(?:[ƒf][1-9A-HJ-NP-Za-km-z]{1,12}|[0-9]{1,20}|0x[0-9a-f]{1,16}"
    r"|[0-9a-f]{4}(?:\.[0-9a-f]{4}){3})"
)


def flux_task_id(env: Environment) -> str | None:
    """The Flux job whose task this program is."""
    return matching(env, _FLUX_ID, "FLUX_JOB_ID")


def flux_enclosing_id(env: Environment) -> str | None:
    """The Flux job that is the instance around this program."""
    return matching(env, _FLUX_ID, "FLUX_ENCLOSING_ID")


def flux_id(env: Environment) -> str | None:
    """The job around this program: of the task, else of the instance."""
    return flux_task_id(env) or flux_enclosing_id(env)


def read_flux(job: str, inside: Inside) -> Allocation | Ask:
    """What the job has."""
    parent = flux_task_id(inside.env) is None
    ask = ("flux", *(("--parent",) if parent else ()), "job", "info", job, "R")
    answer = inside.answers.get(" ".join(ask))
    if answer is None or answer.rc != 0:
        told = "" if answer is None else answer.stderr.strip().split("\n")[0]
        why = (
            "Flux names its hosts only when it is asked"
            if answer is None
            else f"Flux does not tell: {told}"
        )
        return Ask(why, (ask,))
    nodes = _read_resource_set(answer.stdout)
    warnings: tuple[str, ...] = ()
    count = None if parent else whole(inside.env, "FLUX_JOB_NNODES")
    if count is not None and count != len(nodes):
        warnings = (f"FLUX_JOB_NNODES is {count}, the resource set has {len(nodes)} nodes",)
    tasks = None if parent else whole(inside.env, "FLUX_JOB_SIZE")
    each = tasks // len(nodes) if tasks is not None and tasks % len(nodes) == 0 else None
    index = value(inside.env, "FLUX_JOB_CC")
    return Allocation(
        kind="flux",
        id=job,
        array=None if index is None or parent else (job, index),
        nodes=tuple(Node(host, tasks=each, cpus=cpus, gpus=gpus) for host, cpus, gpus in nodes),
        source=(" ".join(ask),),
        warnings=warnings,
    )


def _read_resource_set(text: str) -> list[tuple[str, int | None, tuple[str, ...]]]:
    """R of version 1: ranks with their cores and gpus, hosts in the order of the ranks."""
    try:
        resources = json.loads(text)
        version = resources["version"]
        entries = resources["execution"]["R_lite"]
        lists = resources["execution"]["nodelist"]
        ranks: list[tuple[int, int | None, tuple[str, ...]]] = []
        for entry in entries:
            children = entry["children"]
            core, gpu = children.get("core"), children.get("gpu")
            cpus = None if core is None else len(expand_indices(core))
            gpus = () if not gpu else tuple(str(one) for one in expand_indices(gpu))
            ranks.extend((rank, cpus, gpus) for rank in expand_indices(entry["rank"]))
        hosts = [host for one in lists for host in expand_host_list(one, "flux")]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Inconsistent("the resource set is not of version 1") from error
    if version != 1 or not ranks:
        raise Inconsistent("the resource set is not of version 1")
    if len(ranks) != len(hosts):
        raise Inconsistent(f"the resource set has {len(ranks)} ranks and {len(hosts)} hosts")
    ranks.sort(key=lambda one: one[0])
    return [(host, cpus, gpus) for host, (_, cpus, gpus) in zip(hosts, ranks, strict=True)]
