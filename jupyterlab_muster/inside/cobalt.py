"""An allocation of Cobalt, seen from inside."""

from __future__ import annotations

from .hostlist import Inconsistent, expand_indices, read_node_file
from .model import Allocation, Environment, Node
from .values import Inside, matching, value, whole


def cobalt_id(env: Environment) -> str | None:
    """The id of the Cobalt job around this program."""
    return matching(env, r"[1-9][0-9]{0,14}", "COBALT_JOBID")


def read_cobalt(job: str, inside: Inside) -> Allocation:
    """What the job has."""
    text = inside.file("COBALT_NODEFILE")
    part = value(inside.env, "COBALT_PARTNAME")
    if text is not None:
        hosts = [host for host, _ in read_node_file(text, "COBALT_NODEFILE")]
    elif part is not None:
        # Node numbers of a Cray: 1 is nid00001.
        hosts = [f"nid{number:05d}" for number in expand_indices(part)]
    else:
        raise Inconsistent("neither COBALT_NODEFILE nor COBALT_PARTNAME names a host")
    told = whole(inside.env, "COBALT_JOBSIZE")
    return Allocation(
        kind="cobalt",
        id=job,
        nodes=tuple(Node(host) for host in hosts),
        node_file=None if text is None else value(inside.env, "COBALT_NODEFILE"),
        source=("COBALT_PARTNAME" if text is None else "COBALT_NODEFILE",),
        warnings=(
            (f"COBALT_JOBSIZE is {told}, the list of nodes has {len(hosts)}",)
            if told is not None and told != len(hosts)
            else ()
        ),
    )
