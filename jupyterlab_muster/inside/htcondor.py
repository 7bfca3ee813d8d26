"""An allocation of HTCondor, seen from inside."""

from __future__ import annotations

import re

from .hostlist import Inconsistent, is_host_name
from .model import Allocation, Environment, Node
from .values import MIB, Ask, Inside, device_names, value


def condor_ad_file(env: Environment) -> str | None:
    """The file that marks a job of HTCondor; it has no id variable."""
    return value(env, "_CONDOR_JOB_AD")


def read_ad(text: str) -> dict[str, str]:
    """Lines ``Name = value``; strings without their quotes, expressions as they are."""
    values: dict[str, str] = {}
    for name, found in re.findall(r"^([A-Za-z_]\w*) = (.*)$", text, re.MULTILINE):
        quoted = re.fullmatch(r'".*"', found) is not None and len(found) >= 2
        values[name] = re.sub(r'\\(["\\])', r"\1", found[1:-1]) if quoted else found
    return values


def read_htcondor(file: str, inside: Inside) -> Allocation | Ask:
    """What the job has."""
    text = inside.read_file(file)
    if text is None:
        return Ask("the file of _CONDOR_JOB_AD cannot be read")
    ad = read_ad(text)

    def number(name: str, least: int) -> int | None:
        found = ad.get(name, "undefined")
        if found == "undefined":
            return None
        if re.fullmatch(r"[0-9]{1,15}", found) is None or int(found) < least:
            raise Inconsistent(f"{name} of the job ad is '{found}'")
        return int(found)

    cluster, proc = number("ClusterId", 1), number("ProcId", 0)
    if cluster is None or proc is None:
        raise Inconsistent("the job ad has no ClusterId and ProcId")
    machine_text = inside.file("_CONDOR_MACHINE_AD")
    machine = None if machine_text is None else read_ad(machine_text)
    remote = ad.get("RemoteHost")
    host = re.sub(r"^.*@", "", remote) if remote is not None else (machine or {}).get("Machine", "")
    if not is_host_name(host):
        raise Inconsistent("no ad names the host")
    memory = number("MemoryProvisioned", 1)
    starts = number("NumShadowStarts", 0)
    named = (machine or {}).get("AssignedGPUs", "undefined")
    gpus: tuple[str, ...] | None = None
    if named not in ("undefined", ""):
        gpus = device_names(named)
    elif (machine or {}).get("GPUs") == "0" or ad.get("GpusProvisioned") == "0":
        gpus = ()
    return Allocation(
        kind="htcondor",
        id=f"{cluster}.{proc}",
        incarnation=None if starts is None else max(0, starts - 1),
        nodes=(
            Node(
                host,
                tasks=1,
                cpus=number("CpusProvisioned", 1),
                mem_bytes=None if memory is None else memory * MIB,
                gpus=gpus,
            ),
        ),
        source=("_CONDOR_JOB_AD", *(() if machine is None else ("_CONDOR_MACHINE_AD",))),
    )
