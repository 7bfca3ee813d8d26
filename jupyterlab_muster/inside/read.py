"""Where this program is, and what it was given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .cobalt import cobalt_id, read_cobalt
from .flux import flux_id, read_flux
from .hostlist import Inconsistent
from .htcondor import condor_ad_file, read_htcondor
from .lsf import lsf_id, read_lsf
from .model import (
    Allocation,
    Answers,
    Environment,
    Here,
    Incomplete,
    InconsistentAllocation,
    Node,
    ReadFile,
)
from .oar import oar_id, read_oar
from .pbs import pbs_id, read_pbs, read_torque, torque_id
from .sge import read_sge, sge_id
from .slurm import read_slurm, slurm_id
from .values import Ask, Inside, same_host

_Reader = Callable[[str, Inside], "Allocation | Ask"]

# The innermost first.
_READERS: tuple[tuple[str, Callable[[Environment], str | None], _Reader], ...] = (
    ("flux", flux_id, read_flux),
    ("htcondor", condor_ad_file, read_htcondor),
    ("lsf", lsf_id, read_lsf),
    ("pbs", pbs_id, read_pbs),
    ("torque", torque_id, read_torque),
    ("slurm", slurm_id, read_slurm),
    ("sge", sge_id, read_sge),
    ("oar", oar_id, read_oar),
    ("cobalt", cobalt_id, read_cobalt),
)


def detect(env: Environment) -> list[str]:
    """The batch systems around this program, the innermost first."""
    return [kind for kind, job_id, _ in _READERS if job_id(env) is not None]


def _within(given: Allocation, here: Here | None) -> Allocation:
    """The mask of the process outranks the variable where it is smaller (§7, rule 3)."""
    node = next((one for one in given.nodes if here and same_host(one.host, here.host)), None)
    if here is None or node is None or node.cpus is None or here.cpus >= node.cpus:
        return given

    def fewer(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        return tuple(replace(one, cpus=here.cpus) if one is node else one for one in nodes)

    warning = f"this process may use {here.cpus} of the {node.cpus} cpus of {node.host}"
    return replace(
        given,
        nodes=fewer(given.nodes),
        groups=tuple(replace(group, nodes=fewer(group.nodes)) for group in given.groups),
        warnings=(*given.warnings, warning),
    )


def read_allocation(
    env: Environment,
    read_file: ReadFile,
    answers: Answers,
    here: Here | None = None,
    only: str | None = None,
) -> Allocation | Incomplete | None:
    """What the innermost batch system gave, or that of ``only``; raises InconsistentAllocation."""
    for kind, job_id, read in _READERS:
        job = job_id(env)
        if job is None or (only is not None and kind != only):
            continue
        try:
            reading = read(job, Inside(env, read_file, answers))
        except Inconsistent as error:
            raise InconsistentAllocation(kind, job, str(error)) from error
        if isinstance(reading, Ask):
            return Incomplete(kind, job, reading.why, reading.asks)
        return _within(reading, here)
    return None
