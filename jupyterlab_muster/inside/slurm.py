"""An allocation of Slurm, seen from inside."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .hostlist import Inconsistent, expand_counts, expand_host_list
from .model import Allocation, Environment, Group, Node
from .values import MIB, Inside, device_names, matching, same_host, value, whole


def slurm_id(env: Environment) -> str | None:
    """The id of the Slurm job around this program."""
    return matching(env, r"[1-9][0-9]{0,14}", "SLURM_JOB_ID", "SLURM_JOBID")


def read_slurm(job: str, inside: Inside) -> Allocation:
    """What the job has."""
    env = inside.env
    het = whole(env, "SLURM_HET_SIZE")
    size = het if het is not None else whole(env, "SLURM_PACK_SIZE")
    if size is not None and not 1 <= size <= 10_000:
        raise Inconsistent(f"a heterogeneous job of {size} components")
    family = "_PACK_GROUP_" if het is None else "_HET_GROUP_"
    suffixes = [""] if size is None else [f"{family}{at}" for at in range(size)]
    source: dict[str, None] = {}
    groups = tuple(
        Group(value(env, f"SLURM_JOB_ID{suffix}") or job, _slurm_group(inside, suffix, source))
        for suffix in suffixes
    )
    array_id = value(env, "SLURM_ARRAY_JOB_ID")
    index = value(env, "SLURM_ARRAY_TASK_ID")
    return Allocation(
        kind="slurm",
        id=job,
        nodes=tuple(node for group in groups for node in group.nodes),
        groups=groups,
        incarnation=whole(env, "SLURM_RESTART_COUNT") or 0,
        array=(array_id, index) if array_id is not None and index is not None else None,
        source=tuple(source),
    )


def _slurm_group(inside: Inside, suffix: str, source: dict[str, None]) -> tuple[Node, ...]:
    env = inside.env

    def first(*names: str) -> tuple[str, str] | None:
        for name in names:
            text = value(env, name + suffix)
            if text is not None:
                source[name + suffix] = None
                return name + suffix, text
        return None

    listed = first("SLURM_JOB_NODELIST", "SLURM_NODELIST")
    if listed is None:
        raise Inconsistent(f"SLURM_JOB_NODELIST{suffix} is missing")
    hosts = expand_host_list(listed[1])
    if not hosts:
        raise Inconsistent(f"{listed[0]} names no nodes")
    if len(set(hosts)) != len(hosts):
        raise Inconsistent(f"{listed[0]} names a node twice")

    count = whole(env, f"SLURM_JOB_NUM_NODES{suffix}")
    if count is not None and count != len(hosts):
        raise Inconsistent(f"SLURM_JOB_NUM_NODES{suffix} is {count}, {listed[0]} has {len(hosts)}")

    def per_node(counted: tuple[str, str] | None) -> list[int] | None:
        if counted is None:
            return None
        counts = expand_counts(counted[1])
        if len(counts) != len(hosts):
            raise Inconsistent(
                f"{counted[0]} counts {len(counts)} nodes, {listed[0]} has {len(hosts)}"
            )
        return counts

    cpus = per_node(first("SLURM_JOB_CPUS_PER_NODE"))
    # Inside a step this variable tells of the step, not of the job.
    step = value(env, "SLURM_STEP_ID") or value(env, "SLURM_STEPID")
    tasks = per_node(first("SLURM_TASKS_PER_NODE")) if step is None else None
    here = value(env, "SLURMD_NODENAME")
    nodes: list[Node] = []
    for at, host in enumerate(hosts):
        is_here = here is not None and same_host(host, here)
        tells = is_here or (len(hosts) == 1 and suffix == "")
        gpus = _slurm_gpus(env, source) if tells else None
        own = None if cpus is None else cpus[at]
        memory = _Memory(own, None if gpus is None else len(gpus), is_here)
        nodes.append(
            Node(
                host,
                tasks=None if tasks is None else tasks[at],
                cpus=own,
                mem_bytes=memory.read(inside, suffix, source),
                gpus=gpus,
            )
        )
    return tuple(nodes)


@dataclass(frozen=True)
class _Memory:
    """Of one node: MiB without unit, per node, cpu or gpu."""

    cpus: int | None
    gpus: int | None
    is_here: bool

    def read(self, inside: Inside, suffix: str, source: dict[str, None]) -> int | None:
        def amount(name: str) -> int | None:
            found = whole(inside.env, name + suffix)
            if found is not None:
                source[name + suffix] = None
            return found

        per_node = amount("SLURM_MEM_PER_NODE")
        if per_node == 0:
            # The whole node, whose memory only the node itself knows.
            text = (inside.read_file("/proc/meminfo") or "") if self.is_here else ""
            total = re.search(r"^MemTotal:\s+([0-9]{1,15}) kB$", text, re.MULTILINE)
            return int(total[1]) * 1024 if total else None
        if per_node is not None:
            return per_node * MIB
        per_cpu = amount("SLURM_MEM_PER_CPU")
        if per_cpu and self.cpus is not None:
            return per_cpu * self.cpus * MIB
        per_gpu = amount("SLURM_MEM_PER_GPU")
        return per_gpu * self.gpus * MIB if per_gpu and self.gpus is not None else None


def _slurm_gpus(env: Environment, source: dict[str, None]) -> tuple[str, ...] | None:
    """Slurm names devices for the node one is on only."""
    named = value(env, "SLURM_JOB_GPUS") or value(env, "SLURM_STEP_GPUS")
    count = whole(env, "SLURM_GPUS_ON_NODE")
    if named is None and count is None:
        return None
    source["SLURM_GPUS_ON_NODE" if named is None else "SLURM_JOB_GPUS"] = None
    gpus = tuple(str(at) for at in range(count or 0)) if named is None else device_names(named)
    if count is not None and named is not None and count != len(gpus):
        raise Inconsistent(f"SLURM_GPUS_ON_NODE is {count}, SLURM_JOB_GPUS names {len(gpus)}")
    return gpus
