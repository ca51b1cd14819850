"""What the launchers' plugins share: judge, warn or refuse before a run, and say what it did after it."""

from __future__ import annotations

import logging
import os
import subprocess
import tempfile
from typing import Literal, Sequence, get_args

from flightplan.client import Client
from flightplan.errors import RpcError, ServerNotStarted
from flightplan.findings import errors
from flightplan.observation import Observation, observe, report
from flightplan.plan import Report
from flightplan.v1 import resolver_service_pb2

Mode = Literal["shadow", "warn", "enforce"]

_TIMEOUT_SECONDS = 2.0  # a launcher waits for us, so not long

log = logging.getLogger("flightplan")


def judge(
    config: str | Sequence[str],
    *,
    mode: Mode,
    target: str | None,
    gpu: str | None,
    gpus: int | None,
    server: str | None,
    fail_closed: bool = False,
) -> Report | None:
    """The report, after logging its errors.

    None where nothing was judged: there is no training launch in it; or it is no text, or the server does not answer,
    cannot read it or may not be asked (a token in plain text, a certificate that cannot be read), which a launcher
    lets pass unless `fail_closed`.

    Raises:
        ConfigError: In mode "enforce", for a configuration that cannot run.
        RpcError, ServerNotStarted, ValueError: With `fail_closed`, where it could not be judged.
        ValueError: There is no such mode.
    """
    if mode not in get_args(Mode):
        raise ValueError(f"flightplan's mode is {mode!r}, must be one of {', '.join(get_args(Mode))}")
    # It is a text, be it one word: with the end of its line it cannot be taken for the name of a file.
    if isinstance(config, str) and not config.endswith("\n"):
        config += "\n"
    try:
        with Client(server) as client:
            report = client.validate(config, target=target, gpu=gpu, gpus=gpus, timeout=_TIMEOUT_SECONDS)
    except (RpcError, ServerNotStarted, ValueError) as error:
        if fail_closed:
            raise
        log.warning("not judged: %s", error)
        return None
    if not any(entry.origin == resolver_service_pb2.CONFIG_ORIGIN_CALLER for entry in report.response.config):
        log.info("not judged: no training launch in it")
        return None
    level = logging.INFO if mode == "shadow" else logging.WARNING
    for finding in errors(report.findings):
        log.log(level, "%s", finding)
    if mode == "enforce":
        report.check()
    return report


def look_back(
    logs: str | os.PathLike[str],
    launch: str,
    *,
    target: str | None,
    gpu: str | None,
    gpus: int | None,
    model: str | None,
    cluster: str | None,
    server: str | None,
) -> Observation | None:
    """What the run printed beside its forecast, after logging it; None where it could not be read.

    `launch` is the text that was judged before. With `model`, and where it is a run of that launch, the figures go to
    the evidence store of `server`; without a server they go nowhere.
    """
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "launch.sh")
        with open(script, "w", encoding="utf-8") as file:
            file.write(launch)
        try:
            seen = observe(logs, launch=script, gpu=gpu, gpus=gpus, target=target)
        except (ValueError, OSError, ServerNotStarted, subprocess.TimeoutExpired) as error:
            log.warning("not observed: %s", error)
            return None
        log.info("%s", seen)
        for figure in seen.figures.values():
            if figure.measured is not None and figure.forecast is not None:
                pair = (figure.measured, figure.forecast)
                log.info("%s: measured %.4g, forecast %.4g, %s", figure.name, *pair, figure.verdict)
        for cause in seen.causes:
            log.info("%s", cause)
        if seen.next_knobs:
            log.info("next: %s", " ".join(f"{name}={value}" for name, value in seen.next_knobs.items()))
        if model is not None and server is not None and seen.matches_launch:
            try:
                rows = report(
                    logs, launch=script, gpu=gpu, gpus=gpus, target=target, model=model, cluster=cluster, server=server
                )
            except (ValueError, OSError, ServerNotStarted, subprocess.TimeoutExpired) as error:
                log.warning("not reported: %s", error)
            else:
                log.info("reported to %s: %s", server, ", ".join(row["metric"] for row in rows))
        return seen
