"""An allocation of OAR, seen from inside."""

from __future__ import annotations

import re

from .hostlist import Inconsistent, read_node_file
from .model import Allocation, Environment, Node
from .values import MIB, Ask, Inside, matching, value


def oar_id(env: Environment) -> str | None:
    """The id of the OAR job around this program."""
    return matching(env, r"[1-9][0-9]{0,14}", "OAR_JOB_ID", "OAR_JOBID")


def read_oar(job: str, inside: Inside) -> Allocation | Ask:
    """What the job has."""
    env = inside.env
    names = ("OAR_NODEFILE", "OAR_NODE_FILE", "OAR_FILE_NODES")
    name = next((one for one in names if value(env, one) is not None), None)
    text = None if name is None else inside.file(name)
    if name is None or text is None:
        return Ask(
            "OAR_NODEFILE is not set" if name is None else f"the file of {name} cannot be read"
        )
    properties = inside.file("OAR_RESOURCE_PROPERTIES_FILE")
    memory: dict[str, int] = {}
    for line in (properties or "").split("\n"):
        values = dict(re.findall(r"([A-Za-z_]\w*) = '([^']*)'", line))
        host = values.get("network_address") or values.get("host")
        if host and re.fullmatch(r"[1-9][0-9]{0,11}", values.get("mem", "")):
            memory[host] = int(values["mem"]) * MIB
    array = value(env, "OAR_ARRAY_ID") or value(env, "OAR_ARRAYID")
    index = value(env, "OAR_ARRAY_INDEX") or value(env, "OAR_ARRAYINDEX")
    element: tuple[str, str] | None = None
    # Set for single jobs too, with the own id and 1, which therefore says nothing.
    if array is not None and index is not None and (array, index) != (job, "1"):
        if not (re.fullmatch("[0-9]{1,15}", array) and re.fullmatch("[0-9]{1,9}", index)):
            raise Inconsistent("OAR_ARRAY_ID and OAR_ARRAY_INDEX are not numbers")
        element = (array, index)
    return Allocation(
        kind="oar",
        id=job,
        array=element,
        nodes=tuple(
            Node(host, tasks=slots, cpus=slots, mem_bytes=memory.get(host))
            for host, slots in read_node_file(text, name)
        ),
        node_file=value(env, name),
        source=(name, *(() if properties is None else ("OAR_RESOURCE_PROPERTIES_FILE",))),
    )
