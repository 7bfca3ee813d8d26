"""Host lists, counts and node files of batch systems (specs/launchers-and-allocations.md §5).

The same rules as ``src/backends/allocation``, which the same fixtures prove. Read strictly: a text
that is not what it should be is refused, never guessed at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# More hosts than this in one range are refused.
MOST_IN_A_RANGE = 65_536
MOST = 1_048_576

_NOTHING = {"", "none assigned", "(null)", "n/a"}
_LITERAL = re.compile(r"[\w.-]*")


class Inconsistent(Exception):
    """A text contradicts itself or another one; the message says how."""


def shown(text: str) -> str:
    """A foreign text short enough for a message."""
    line = re.sub(r"\s+", " ", text)
    return f"{line[:120]}…" if len(line) > 120 else line


def is_host_name(text: str) -> bool:
    """Whether this may stand for one host."""
    return text != "" and _LITERAL.fullmatch(text) is not None and not text.startswith("-")


def expand_host_list(text: str, dialect: str = "slurm") -> list[str]:
    """``n[001-003,007]`` → n001 n002 n003 n007; order and duplicates are kept.

    Flux (``dialect="flux"``) expands only the first bracket of an item.
    """
    compact = text.strip()
    if compact.lower() in _NOTHING:
        return []
    hosts: list[str] = []
    for item in _split_items(compact):
        hosts.extend(_expand_item(item, dialect, compact))
        if len(hosts) > MOST:
            raise Inconsistent(f"the host list '{shown(text)}' is too long")
    return hosts


def _malformed(text: str) -> Inconsistent:
    return Inconsistent(f"'{shown(text)}' is not a host list")


def _split_items(text: str) -> list[str]:
    items: list[str] = []
    inside = False
    start = 0
    for at, character in enumerate(text):
        if character in "[]":
            if inside == (character == "["):
                raise _malformed(text)
            inside = character == "["
        elif character == "," and not inside:
            items.append(text[start:at])
            start = at + 1
    if inside:
        raise _malformed(text)
    items.append(text[start:])
    return items


def _expand_item(item: str, dialect: str, whole: str) -> list[str]:
    names = [""]
    for at, part in enumerate(re.split(r"[\[\]]", item)):
        bracket = at % 2 == 1
        if bracket and dialect == "flux" and at > 1:
            names = [f"{name}[{part}]" for name in names]
            continue
        if not bracket and _LITERAL.fullmatch(part) is None:
            raise _malformed(whole)
        choices = _expand_ranges(part, whole) if bracket else [part]
        if len(names) * len(choices) > MOST:
            raise Inconsistent(f"the host list '{shown(whole)}' is too long")
        names = [name + choice for name in names for choice in choices]
    if any(name == "" or name.startswith("-") for name in names):
        raise _malformed(whole)
    return names


def _expand_ranges(text: str, whole: str) -> list[str]:
    names: list[str] = []
    for part in text.split(","):
        bounds = re.fullmatch(r"([0-9]{1,15})(?:-([0-9]{1,15}))?", part)
        if bounds is None:
            raise _malformed(whole)
        low, high = bounds[1], bounds[2] or bounds[1]
        count = int(high) - int(low) + 1
        if count < 1:
            raise _malformed(whole)
        if count > MOST_IN_A_RANGE:
            raise Inconsistent(f"a range of {count} hosts in '{shown(whole)}' is too long")
        names.extend(str(int(low) + at).zfill(len(low)) for at in range(count))
    return names


def expand_counts(text: str) -> list[int]:
    """``72(x2),36`` → 72 72 36."""
    counts: list[int] = []
    for item in text.strip().split(","):
        match = re.fullmatch(r"([0-9]{1,9})(?:\(x([0-9]{1,7})\))?", item)
        times = int(match[2] or 1) if match else 0
        if match is None or times < 1 or len(counts) + times > MOST:
            raise Inconsistent(f"'{shown(text)}' is not a list of counts")
        counts.extend([int(match[1])] * times)
    return counts


def expand_indices(text: str) -> list[int]:
    """``0-3,7`` → 0 1 2 3 7."""
    indices: list[int] = []
    for part in text.strip().split(","):
        match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", part)
        low = int(match[1]) if match else 0
        high = int(match[2] or low) if match else -1
        if match is None or high < low or high - low > MOST:
            raise Inconsistent(f"'{shown(text)}' is not a list of numbers")
        indices.extend(range(low, high + 1))
    return indices


def gathered(entries: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """One entry per host, slots added, in order of first sight."""
    slots: dict[str, int] = {}
    for host, count in entries:
        slots[host] = slots.get(host, 0) + count
    return list(slots.items())


def read_node_file(text: str, name: str) -> list[tuple[str, int]]:
    """Lines of a node file: a host is a node, its lines are its slots."""
    lines = [line.strip() for line in text.split("\n") if line.strip() != ""]
    if not lines:
        raise Inconsistent(f"the file of {name} is empty")
    for line in lines:
        if not is_host_name(line):
            raise Inconsistent(
                f"the file of {name} has the line '{shown(line)}', which is not a host"
            )
    return gathered((line, 1) for line in lines)


def read_lsf_hosts(text: str) -> list[tuple[str, int]]:
    """LSF: ``host1:host1``, ``2*host1``, ``h1 h1 h2``; all mean slots."""
    entries: list[tuple[str, int]] = []
    for item in re.split(r"[:\s]+", text.strip()):
        match = re.fullmatch(r"(?:([0-9]{1,6})\*)?(\S+)", item)
        slots = int(match[1] or 1) if match else 0
        if match is None or not is_host_name(match[2]) or slots < 1:
            raise Inconsistent(f"'{shown(text)}' is not a list of LSF hosts")
        entries.append((match[2], slots))
    return gathered(entries)


def read_lsf_counts(text: str) -> list[tuple[str, int]]:
    """LSB_MCPU_HOSTS: ``h1 4 h2 4``."""
    words = text.split()
    entries: list[tuple[str, int]] = []
    for at in range(0, len(words), 2):
        host = words[at]
        slots = words[at + 1] if at + 1 < len(words) else ""
        if not is_host_name(host) or re.fullmatch(r"[1-9][0-9]{0,6}", slots) is None:
            raise Inconsistent(f"LSB_MCPU_HOSTS='{shown(text)}' is not a list of hosts and slots")
        entries.append((host, int(slots)))
    return gathered(entries)


def read_pbs_size(text: str) -> int | None:
    """A PBS size such as ``102400kb``; None where it is not one."""
    match = re.fullmatch(r"([0-9]{1,15})(b|kb|mb|gb|tb|pb)?", text.strip(), re.IGNORECASE)
    if match is None:
        return None
    unit = ["b", "kb", "mb", "gb", "tb", "pb"].index((match[2] or "b").lower())
    size = int(match[1]) * 1024**unit
    return size if size < 2**53 else None
