"""An allocation of PBS Pro, OpenPBS and Torque, seen from inside."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from .hostlist import Inconsistent, is_host_name, read_node_file, read_pbs_size, shown
from .model import Allocation, Environment, Node
from .values import Ask, Inside, matching, same_host, value, whole


def _is_torque(env: Environment) -> bool:
    version = value(env, "PBS_VERSION")
    return (version is not None and version.startswith("TORQUE")) or (
        value(env, "PBS_NUM_PPN") is not None and value(env, "PBS_NP") is not None
    )


def _pbs_family_id(env: Environment) -> str | None:
    return matching(env, r"[0-9]{1,12}(?:\[[0-9]{1,9}\])?(?:\.[\w.-]+)?", "PBS_JOBID")


def pbs_id(env: Environment) -> str | None:
    """The id of the job of PBS Pro or OpenPBS around this program."""
    return None if _is_torque(env) else _pbs_family_id(env)


def torque_id(env: Environment) -> str | None:
    """The id of the Torque job around this program."""
    return _pbs_family_id(env) if _is_torque(env) else None


def _pbs_array(job: str, index: str | None) -> tuple[str, str] | None:
    match = re.fullmatch(r"([0-9]+)\[([0-9]+)\](.*)", job)
    if match is None:
        return None
    if index is not None and index != match[2]:
        raise Inconsistent(f"PBS_JOBID is '{job}' but the array index is {index}")
    return f"{match[1]}[]{match[3]}", match[2]


def _no_node_file(unset: bool) -> str:
    return "PBS_NODEFILE is not set" if unset else "the file of PBS_NODEFILE cannot be read"


@dataclass
class _Vnode:
    cpus: int
    memory: int | None
    gpus: int


def _read_exec_vnode(text: str) -> dict[str, _Vnode]:
    found: dict[str, _Vnode] = {}
    malformed = Inconsistent(f"exec_vnode '{shown(text)}' is malformed")
    for chunk in re.sub(r"\s", "", text).split("+"):
        name, *amounts = re.sub(r"[()]", "", chunk).split(":")
        host = re.sub(r"\[[0-9]+\]$", "", name)
        if not is_host_name(host):
            raise malformed
        values: dict[str, str] = {}
        for amount in amounts:
            key, equals, text_value = amount.partition("=")
            if equals == "":
                raise malformed
            values[key] = text_value
        numbers = [values.get(key, "0") for key in ("ncpus", "ngpus")]
        if any(re.fullmatch(r"[0-9]{1,9}", number) is None for number in numbers):
            raise malformed
        cpus, gpus = map(int, numbers)
        before = found.get(host, _Vnode(0, None, 0))
        memory = read_pbs_size(values["mem"]) if "mem" in values else None
        found[host] = _Vnode(
            cpus + before.cpus,
            before.memory if memory is None else memory + (before.memory or 0),
            gpus + before.gpus,
        )
    return found


def pbs_job(stdout: str, job: str) -> dict[str, Any] | None:
    """The record of one job in the answer of ``qstat -f -F json``."""
    try:
        jobs = json.loads(stdout)["Jobs"]
        known = jobs.get(job) or next(
            (one for name, one in jobs.items() if name.split(".")[0] == job.split(".")[0]), None
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # Not JSON: PBS Pro before 18 has no -F, and hostile values have broken its JSON before.
        return None
    return known if isinstance(known, dict) else None


def read_pbs(job: str, inside: Inside) -> Allocation | Ask:
    """What the job has."""
    env = inside.env
    ask = ("qstat", "-f", "-F", "json", job)
    answer = inside.answers.get(" ".join(ask))
    record = None if answer is None else pbs_job(answer.stdout, job)
    text = record.get("exec_vnode") if record is not None else None
    vnodes = _read_exec_vnode(text) if isinstance(text, str) else {}
    lines = inside.file("PBS_NODEFILE")
    array = _pbs_array(job, value(env, "PBS_ARRAY_INDEX"))
    source: list[str] = []
    nodes: list[Node] = []

    def known(host: str) -> _Vnode | None:
        alike = [one for name, one in vnodes.items() if same_host(name, host)]
        return vnodes.get(host) or (alike[0] if len(alike) == 1 else None)

    def described(host: str, tasks: int | None, cpus: int | None, one: _Vnode | None) -> Node:
        return Node(
            host,
            tasks=tasks,
            cpus=cpus if one is None else one.cpus,
            mem_bytes=None if one is None else one.memory,
            gpus=None if one is None else tuple(str(at) for at in range(one.gpus)),
        )

    if lines is not None:
        source.append("PBS_NODEFILE")
        entries = read_node_file(lines, "PBS_NODEFILE")
        cpus = whole(env, "NCPUS")
        if cpus is not None:
            source.append("NCPUS")
        # NCPUS is of the chunk the script runs on, the first host of the file.
        for at, (host, slots) in enumerate(entries):
            nodes.append(described(host, slots, (cpus or None) if at == 0 else None, known(host)))
    elif vnodes:
        nodes = [described(host, None, None, one) for host, one in vnodes.items()]
    else:
        unset = value(env, "PBS_NODEFILE") is None
        return Ask(_no_node_file(unset), (ask,))
    if vnodes:
        source.append("exec_vnode")
    return Allocation(
        kind="pbs",
        id=job,
        array=array,
        nodes=tuple(nodes),
        node_file=None if lines is None else value(env, "PBS_NODEFILE"),
        source=tuple(source),
    )


def read_torque(job: str, inside: Inside) -> Allocation | Ask:
    """What the job has."""
    env = inside.env
    text = inside.file("PBS_NODEFILE")
    if text is None:
        unset = value(env, "PBS_NODEFILE") is None
        return Ask(_no_node_file(unset))
    entries = read_node_file(text, "PBS_NODEFILE")
    total = sum(slots for _, slots in entries)
    warnings: list[str] = []
    counted = whole(env, "PBS_NP")
    if counted is not None and counted != total:
        warnings.append(f"PBS_NP is {counted}, PBS_NODEFILE has {total} lines; the file counts")
    gpu_text = inside.file("PBS_GPUFILE")
    gpus: dict[str, list[str]] | None = None
    if gpu_text is not None:
        gpus = {}
        for line in (one.strip() for one in gpu_text.split("\n")):
            if line == "":
                continue
            match = re.fullmatch(r"(\S+)-gpu([0-9]{1,4})", line)
            if match is None or not is_host_name(match[1]):
                raise Inconsistent(f"the file of PBS_GPUFILE has the line '{shown(line)}'")
            gpus.setdefault(match[1], []).append(match[2])
    return Allocation(
        kind="torque",
        id=job,
        array=_pbs_array(job, value(env, "PBS_ARRAYID")),
        # A slot of Torque is a processor.
        nodes=tuple(
            Node(
                host,
                tasks=slots,
                cpus=slots,
                gpus=None if gpus is None else tuple(gpus.get(host, ())),
            )
            for host, slots in entries
        ),
        node_file=value(env, "PBS_NODEFILE"),
        source=("PBS_NODEFILE", *(() if gpus is None else ("PBS_GPUFILE",))),
        warnings=tuple(warnings),
    )
