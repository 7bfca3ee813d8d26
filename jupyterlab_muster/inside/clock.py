"""Clock texts of the managers: strict, a text that is not one is None."""

from __future__ import annotations

import re
import time

_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def read_clock(text: str) -> int | None:
    """``M:SS``, ``H:MM:SS``, ``D-HH:MM:SS``; fields below 60 (24) beside a higher one."""
    match = re.fullmatch(
        r"(?:(?:([0-9]{1,6})-)?([0-9]{1,6}):)?([0-9]{1,6}):([0-9]{2})", text.strip()
    )
    if match is None:
        return None
    days, hours, minutes, seconds = (None if part is None else int(part) for part in match.groups())
    assert minutes is not None
    assert seconds is not None
    if seconds > 59 or (hours is not None and minutes > 59):
        return None
    if days is not None and (hours or 0) > 23:
        return None
    return (days or 0) * 86_400 + (hours or 0) * 3600 + minutes * 60 + seconds


def is_unlimited(text: str) -> bool:
    """Words that mean "no deadline" in any manager."""
    return text.strip().lower() in {"unlimited", "infinite", "infinity", "none"}


def read_date(text: str) -> float | None:
    """``Mon Nov 30 12:27:15 2026`` in the host's own time zone: seconds since 1970."""
    match = re.fullmatch(
        r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) +([0-9]{1,2}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) ([0-9]{4})",
        text.strip(),
    )
    if match is None or match[1] not in _MONTHS:
        return None
    day, hour, minute, second, year = (int(part) for part in match.groups()[1:])
    try:
        return time.mktime((year, _MONTHS.index(match[1]) + 1, day, hour, minute, second, 0, 0, -1))
    except (OverflowError, ValueError):
        return None
