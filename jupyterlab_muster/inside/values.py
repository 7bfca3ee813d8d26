"""Variables and files as the readers of the batch systems take them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .hostlist import Inconsistent
from .model import Answers, Environment, ReadFile

MIB = 1024 * 1024


@dataclass(frozen=True)
class Inside:
    """What a reader is given."""

    env: Environment
    read_file: ReadFile
    answers: Answers

    def file(self, name: str) -> str | None:
        """The text of the file a variable names."""
        path = value(self.env, name)
        return None if path is None else self.read_file(path)


@dataclass(frozen=True)
class Ask:
    """Only these commands know; none: only a file that cannot be read here."""

    why: str
    asks: tuple[tuple[str, ...], ...] = ()


def value(env: Environment, name: str) -> str | None:
    """A variable that is set and not empty."""
    text = env.get(name, "").strip()
    return text or None


def whole(env: Environment, name: str) -> int | None:
    """A variable that must be a whole number where it is set."""
    text = value(env, name)
    if text is None:
        return None
    if re.fullmatch(r"[0-9]{1,15}", text) is None:
        raise Inconsistent(f"{name}='{text[:80]}' is not a number")
    return int(text)


def matching(env: Environment, pattern: str, *names: str) -> str | None:
    """The first of these variables that is set, where it has this form."""
    text = next((found for name in names if (found := value(env, name)) is not None), None)
    return text if text is not None and re.fullmatch(pattern, text) else None


def device_names(text: str) -> tuple[str, ...]:
    """Names such as ``0,1``, ``0-3`` or ``GPU-3a6c``; also with a type, ``a100:0-1``."""
    names: list[str] = []
    for item in text.split(","):
        part = re.sub(r"^.*:", "", item.strip())
        span = re.fullmatch(r"([0-9]{1,4})-([0-9]{1,4})", part)
        if span is not None and int(span[2]) >= int(span[1]):
            names.extend(str(at) for at in range(int(span[1]), int(span[2]) + 1))
        elif part != "":
            names.append(part)
    return tuple(names)


def same_host(one: str, other: str) -> bool:
    """Short names count only where one side has no domain."""
    if one == other:
        return True
    short, _, domain = one.partition(".")
    other_short, _, other_domain = other.partition(".")
    return short == other_short and (domain == "" or other_domain == "")
