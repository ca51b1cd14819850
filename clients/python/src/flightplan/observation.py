"""A run beside its forecast: what it printed, read by the flightplan program on this machine."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from typing import Any, Mapping, Sequence

from flightplan._own_server import find_binary

_TIMEOUT_SECONDS = 600.0  # a log of 10 GB takes a minute
_OK, _ANOTHER_RUN = 0, 1  # exit codes that come with an answer


@dataclasses.dataclass(frozen=True)
class Figure:
    """One figure, forecast and measured, in the unit of its name (step_time_us, allocated_bytes). None: not said."""

    name: str
    measured: float | None
    forecast: float | None
    low: float | None
    high: float | None
    verdict: str
    """"inside", "above" or "below" the forecast's band; "unknown"."""
    stage: int | None
    """The pipeline stage that it is about; None: the whole run."""
    at_least: bool
    """It was measured before the peak."""


@dataclasses.dataclass(frozen=True)
class Observation:
    """What `flightplan observe` found. `answer` is all of it, as README.md of the repository describes."""

    answer: Mapping[str, Any]

    @property
    def matches_launch(self) -> bool:
        """It is a run of the launch; of another one nothing is compared. False where nothing was read that tells."""
        return bool(self.answer.get("matches_launch", False))

    @property
    def step_time_seconds(self) -> float | None:
        """Median of the steady steps; None: the run printed none."""
        median: float | None = self.answer["steps"].get("median_us")
        return None if median is None else median / 1e6

    @property
    def figures(self) -> dict[str, Figure]:
        """By name."""
        return {
            row["name"]: Figure(
                name=row["name"],
                measured=row.get("measured"),
                forecast=row.get("forecast"),
                low=row.get("forecast_low"),
                high=row.get("forecast_high"),
                verdict=row.get("verdict", "unknown"),
                stage=row.get("stage"),
                at_least=row.get("at_least", False),
            )
            for row in self.answer["figures"]
        }

    @property
    def causes(self) -> Sequence[str]:
        """Where the difference is, as far as the output says so."""
        return tuple(self.answer["causes"])

    @property
    def next_knobs(self) -> dict[str, str]:
        """The change to try next, as it is typed; empty: none is expected to gain."""
        return {knob["name"]: knob["value"] for knob in self.answer.get("next", {}).get("knobs", ())}

    def __str__(self) -> str:
        step = f"{self.step_time_seconds:.4g} s a step" if self.step_time_seconds else "no step time"
        return step if self.matches_launch else f"{step}, not a run of the launch"


def observe(
    log: str | os.PathLike[str],
    *,
    launch: str | os.PathLike[str] | None = None,
    gpu: str | None = None,
    gpus: int | None = None,
    target: str | None = None,
    timeout: float = _TIMEOUT_SECONDS,
) -> Observation:
    """What a run printed (a file, or a folder of logs), beside the forecast of its launch script.

    Without `launch` the arguments that the run printed are judged. Nothing is sent anywhere.

    Raises:
        ValueError: A file cannot be read, or a name is not known; the message says which.
        ServerNotStarted: The program is not on this machine.
        subprocess.TimeoutExpired: It took longer than `timeout` seconds.
    """
    flags = (("--launch", launch), ("--gpu", gpu), ("--gpus", gpus), ("--target", target), ("--format", "json"))
    return Observation(json.loads(_run(log, flags, timeout)))


def report(
    log: str | os.PathLike[str],
    *,
    launch: str | os.PathLike[str] | None = None,
    gpu: str | None = None,
    gpus: int | None = None,
    target: str | None = None,
    model: str,
    cluster: str | None = None,
    server: str | None = None,
    timeout: float = _TIMEOUT_SECONDS,
) -> tuple[Mapping[str, Any], ...]:
    """What a run printed as measurements for the evidence store, sent to `server`; None: to nobody.

    They hold figures, layout, knobs and versions, no path and no host. `model` is the model's name in the catalogue.

    Raises:
        ValueError: A file cannot be read, a name is not known, or there is nothing to report; the message says which.
        ServerNotStarted: The program is not on this machine.
        subprocess.TimeoutExpired: It took longer than `timeout` seconds.
    """
    flags = (
        ("--launch", launch),
        ("--gpu", gpu),
        ("--gpus", gpus),
        ("--target", target),
        ("--model", model),
        ("--cluster", cluster),
        ("--server", server),
    )
    page = _run(log, flags, timeout, "--report")
    return tuple(json.loads(line) for line in page.decode().splitlines() if line.startswith("{"))


def _run(log: str | os.PathLike[str], flags: Sequence[tuple[str, Any]], timeout: float, *switches: str) -> bytes:
    """The output of `flightplan observe`; a flag without a value is left out."""
    command = [str(find_binary()), "observe", *switches]
    for flag, value in flags:
        if value is not None:
            command.append(f"{flag}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
    path = os.fspath(log)
    done = subprocess.run(  # noqa: S603
        [*command, path if os.path.isabs(path) else os.path.join(os.curdir, path)],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=timeout,
        check=False,
    )
    if done.returncode not in (_OK, _ANOTHER_RUN):
        raise ValueError(done.stderr.decode(errors="replace").split("\nusage: ")[0].strip())
    return done.stdout
