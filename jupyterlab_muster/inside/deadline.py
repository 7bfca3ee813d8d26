"""What each manager is asked for the time left, and how its answer reads."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from .clock import is_unlimited, read_clock, read_date
from .cobalt import cobalt_id
from .flux import flux_enclosing_id, flux_task_id
from .htcondor import condor_ad_file, read_ad
from .lsf import lsf_id
from .model import Answer, Answers, Environment, ReadFile, TimeLeft
from .oar import oar_id
from .pbs import pbs_id, pbs_job, torque_id
from .sge import sge_id
from .slurm import slurm_id
from .values import value

# Flux without a limit: the simple scheduler's greatest number, or Fluxion's year 2262.
_FLUX_NO_LIMIT = 4_294_967_295


@dataclass(frozen=True)
class Told:
    """What one manager says."""

    seconds: int | Literal["unknown"] | None
    in_grace: bool = False


@dataclass(frozen=True)
class TimeQuery:
    """One command to ask, and the reader of its output (stdout, now)."""

    kind: str
    argv: tuple[str, ...]
    read: Callable[[str, float], Told]


_UNKNOWN = Told("unknown")
_OVER = Told(0)
_GRACE = Told(0, in_grace=True)
_NO_LIMIT = Told(None)


def _left(seconds: float) -> Told:
    return _GRACE if seconds < 0 else Told(math.floor(seconds))


def _left_or_unknown(seconds: int | None) -> Told:
    return _UNKNOWN if seconds is None else Told(seconds)


def _squeue(job: str) -> tuple[str, ...]:
    return ("squeue", "-h", "-j", job, "-o", "%T|%L")


def time_queries(env: Environment) -> list[TimeQuery]:
    """The commands to ask, innermost manager first; each only where its job id is there."""
    queries: list[TimeQuery] = []

    def add(kind: str, argv: tuple[str, ...], read: Callable[[str, float], Told]) -> None:
        queries.append(TimeQuery(kind, argv, read))

    task, outer = flux_task_id(env), flux_enclosing_id(env)
    if task is not None:
        add("flux", ("flux", "job", "timeleft", task), _read_flux)
    if outer is not None:
        add("flux", ("flux", "--parent", "job", "timeleft", outer), _read_flux)
    if (lsf := lsf_id(env)) is not None:
        index = value(env, "LSB_JOBINDEX") or "0"
        job = f"{lsf}[{index}]" if re.fullmatch(r"[1-9][0-9]{0,9}", index) else lsf
        add("lsf", ("bjobs", "-noheader", "-o", "time_left", job), _read_lsf)
    if (pbs := pbs_id(env)) is not None:
        add(
            "pbs",
            ("qstat", "-f", "-F", "json", pbs),
            lambda text, _now, job=pbs: _read_pbs(text, job),  # type: ignore[misc]
        )
    if (torque := torque_id(env)) is not None:
        add("torque", ("qstat", "-f", "-1", torque), _read_torque)
    if (slurm := slurm_id(env)) is not None:
        add("slurm", _squeue(slurm), _read_slurm)
    if (sge := sge_id(env)) is not None:
        number = value(env, "SGE_TASK_ID") or "undefined"
        number = "1" if number == "undefined" else number
        add(
            "sge",
            ("qstat", "-xml", "-j", sge),
            lambda text, now, number=number: _read_sge(text, number, now),  # type: ignore[misc]
        )
    if (oar := oar_id(env)) is not None:
        add(
            "oar",
            ("oarstat", "-f", "-J", "-j", oar),
            lambda text, now, job=oar: _read_oar(text, job, now),  # type: ignore[misc]
        )
    cobalt = cobalt_id(env)
    if cobalt is not None and value(env, "COBALT_ENDTIME") is None:
        add("cobalt", ("qstat", "-f", "-l", cobalt), _read_cobalt)
    return queries


def time_left_from(env: Environment, read_file: ReadFile, answers: Answers, now: float) -> TimeLeft:
    """The least of what the managers answer. Pure: the answers are given."""
    told: list[tuple[str, Told]] = []
    for query in time_queries(env):
        source = " ".join(query.argv)
        told.append((source, _ask(query, answers.get(source), now)))
    told.extend(_read_ends(env, read_file, answers, now))
    known = [
        (one.seconds, source, one.in_grace) for source, one in told if isinstance(one.seconds, int)
    ]
    if known:
        seconds, source, in_grace = min(known, key=lambda one: one[0])
        certainty: Literal["firm", "likely"] = "firm" if seconds == 0 else "likely"
        return TimeLeft(seconds, source, now, certainty, in_grace)
    sources = "; ".join(source for source, _ in told)
    if told and all(one.seconds is None for _, one in told):
        return TimeLeft(None, sources, now, "likely")
    return TimeLeft("unknown", sources, now, "none")


def _ask(query: TimeQuery, answer: Answer | None, now: float) -> Told:
    return _UNKNOWN if answer is None or answer.rc != 0 else query.read(answer.stdout, now)


def _unreached(answer: Answer | None) -> bool:
    """Did nobody answer? Where somebody did, absolute times of the environment do not count.

    They are of the start, and may be of a job that is gone.
    """
    if answer is None:
        return True
    return answer.rc != 0 and "invalid job id" not in answer.stderr.lower()


def _read_ends(
    env: Environment, read_file: ReadFile, answers: Answers, now: float
) -> list[tuple[str, Told]]:
    """Ends that stand in the environment or in a file, without asking anybody."""
    ends: list[tuple[str, Told]] = []
    for name, job_id in (("SLURM_JOB_END_TIME", slurm_id), ("COBALT_ENDTIME", cobalt_id)):
        text = value(env, name)
        job = job_id(env)
        if text is None or job is None:
            continue
        if job_id is cobalt_id or _unreached(answers.get(" ".join(_squeue(job)))):
            good = re.fullmatch(r"[1-9][0-9]{8,10}", text) is not None
            ends.append((name, _left(int(text) - now) if good else _UNKNOWN))
    file = condor_ad_file(env)
    if file is not None:
        ends.append(("_CONDOR_JOB_AD", _read_condor(read_file(file), now)))
    return ends


_SLURM_WAITING = re.compile(
    r"PENDING|CONFIGURING|REQUEUED|REQUEUE_HOLD|REQUEUE_FED|SPECIAL_EXIT|RESV_DEL_HOLD"
)
_SLURM_OVER = re.compile(
    r"COMPLETED|COMPLETING|CANCELLED|FAILED|TIMEOUT|DEADLINE|PREEMPTED|NODE_FAIL|BOOT_FAIL"
    r"|OUT_OF_MEMORY|REVOKED|STAGE_OUT"
)


def _read_slurm(stdout: str, _now: float) -> Told:
    """Lines ``STATE|LEFT``, one per component of a heterogeneous job; the state outranks."""
    told = [_slurm_line(line) for line in stdout.split("\n") if line.strip() != ""]
    numbers = [one for one in told if isinstance(one.seconds, int)]
    if numbers:
        return min(numbers, key=lambda one: one.seconds if isinstance(one.seconds, int) else 0)
    return _NO_LIMIT if told and all(one.seconds is None for one in told) else _UNKNOWN


def _slurm_line(line: str) -> Told:
    state, text = "RUNNING", line.strip()
    if "|" in line:
        state, text = (part.strip() for part in line.split("|")[:2])
    if _SLURM_WAITING.fullmatch(state):
        return _UNKNOWN
    if _SLURM_OVER.match(state):
        return _OVER
    if text == "INVALID":
        return _GRACE
    if is_unlimited(text):
        return _NO_LIMIT
    if text.startswith("-"):
        return _UNKNOWN if read_clock(text[1:]) is None else _GRACE
    return _left_or_unknown(read_clock(text))


def _read_pbs(stdout: str, job: str) -> Told:
    """Walltime minus what is used; both differ from the calendar while suspended."""
    record = pbs_job(stdout, job) or {}
    state = record.get("job_state")
    if not isinstance(state, str):
        return _UNKNOWN
    if re.fullmatch("[EFX]", state):
        return _OVER
    if not re.fullmatch("[RSUB]", state):
        return _UNKNOWN
    limit = _text_of(record.get("Resource_List"), "walltime")
    if limit is None:
        return _NO_LIMIT
    limit_seconds = read_clock(limit)
    if limit_seconds is None:
        return _UNKNOWN
    used = _text_of(record.get("resources_used"), "walltime")
    if used is not None:
        used_seconds = read_clock(used)
        return _UNKNOWN if used_seconds is None else _left(limit_seconds - used_seconds)
    started = read_date(_text_of(record, "stime") or "")
    # The server's own clock.
    now = re.search(r'"timestamp":\s*([0-9]{9,11})\b', stdout)
    if started is None or now is None:
        return _UNKNOWN
    return _left(started + limit_seconds - int(now[1]))


def _text_of(found: Any, name: str) -> str | None:
    text = found.get(name) if isinstance(found, dict) else None
    return text if isinstance(text, str) else None


def _read_torque(stdout: str, _now: float) -> Told:
    def attribute(name: str) -> str | None:
        match = re.search(rf"^\s+{re.escape(name)} = (.*)$", stdout, re.MULTILINE)
        return None if match is None else match[1].strip()

    state = attribute("job_state")
    if state in ("C", "E"):
        return _OVER
    if state not in ("R", "S"):
        return _UNKNOWN
    remaining = attribute("Walltime.Remaining")
    if remaining is not None and re.fullmatch(r"-?[0-9]{1,10}", remaining):
        return _left(int(remaining))
    limit = attribute("Resource_List.walltime")
    if limit is None:
        return _NO_LIMIT
    limit_seconds = read_clock(limit)
    used_seconds = read_clock(attribute("resources_used.walltime") or "")
    if limit_seconds is None or used_seconds is None:
        return _UNKNOWN
    return _left(limit_seconds - used_seconds)


def _read_sge(stdout: str, task: str, now: float) -> Told:
    """Start of the task + h_rt of the request. Without one the queue may have a limit."""
    request = re.search(r"<JB_hard_resource_list>(.*?)</JB_hard_resource_list>", stdout, re.DOTALL)
    limit = re.search(
        r"<CE_name>h_rt</CE_name>.*?<CE_stringval>([^<]*)</CE_stringval>",
        request[1] if request else "",
        re.DOTALL,
    )
    if limit is None:
        return _UNKNOWN
    if is_unlimited(limit[1]):
        return _NO_LIMIT
    digits = re.fullmatch(r"[0-9]{1,10}", limit[1])
    seconds = int(limit[1]) if digits else read_clock(limit[1])
    started = next(
        (
            int(start)
            for number, start in re.findall(
                r"<JAT_task_number>([0-9]+)</JAT_task_number>(?:(?!<JAT_task_number>).)*?"
                r"<JAT_start_time>([0-9]{1,11})</JAT_start_time>",
                stdout,
                re.DOTALL,
            )
            if number == task
        ),
        0,
    )
    return _UNKNOWN if seconds is None or started == 0 else _left(started + seconds - now)


def _read_lsf(stdout: str, _now: float) -> Told:
    """``0:59 L`` hours and minutes; E estimated, X exceeded; ``-``: no limit of its own."""
    text = stdout.strip()
    if text == "-" or is_unlimited(text):
        return _NO_LIMIT
    match = re.fullmatch(r"([0-9]{1,6}):([0-9]{2}) ?([LEX])?", text)
    if match is None or int(match[2]) > 59:
        return _UNKNOWN
    return _GRACE if match[3] == "X" else Told(int(match[1]) * 3600 + int(match[2]) * 60)


def _read_flux(stdout: str, _now: float) -> Told:
    text = stdout.strip()
    if re.fullmatch(r"[0-9]{1,15}", text) is None:
        return _UNKNOWN
    return _NO_LIMIT if int(text) >= _FLUX_NO_LIMIT else Told(int(text))


def _read_oar(stdout: str, job: str, now: float) -> Told:
    try:
        record = json.loads(stdout)[job]
        state, walltime, start = (record.get(one) for one in ("state", "walltime", "startTime"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # oarstat prints text, not JSON, where its database does not answer.
        return _UNKNOWN
    if state in ("Finishing", "Terminated", "Error", "toError"):
        return _OVER
    numbers = all(
        isinstance(one, (int, float)) and not isinstance(one, bool) for one in (walltime, start)
    )
    if state in ("Running", "Suspended") and numbers and start > 0:
        return _left(start + walltime - now)
    return _UNKNOWN


def _read_condor(text: str | None, now: float) -> Told:
    """The tighter of the ad's limits; without one the site may still have a policy."""
    ad = read_ad(text or "")
    start = ad.get("JobCurrentStartDate", "")
    limits = [
        int(ad[name])
        for name in ("AllowedExecuteDuration", "AllowedJobDuration")
        if re.fullmatch(r"[1-9][0-9]{0,11}", ad.get(name, ""))
    ]
    if not limits or re.fullmatch(r"[1-9][0-9]{0,11}", start) is None:
        return _UNKNOWN
    return _left(int(start) + min(limits) - now)


def _read_cobalt(stdout: str, _now: float) -> Told:
    match = re.search(r"^\s*TimeRemaining\s*:\s*(\S+)\s*$", stdout, re.MULTILINE)
    return _left_or_unknown(read_clock(match[1]) if match else None)
