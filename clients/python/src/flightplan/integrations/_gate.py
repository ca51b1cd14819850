"""What the launchers' plugins share: judge, warn or refuse, and let pass what cannot be judged."""

from __future__ import annotations

import logging
from typing import Literal, Sequence, get_args

from flightplan.client import Client
from flightplan.errors import RpcError, ServerNotStarted
from flightplan.findings import errors
from flightplan.plan import Report
from flightplan.v1 import resolver_service_pb2

Mode = Literal["shadow", "warn", "enforce"]

_TIMEOUT_SECONDS = 2.0  # a launcher waits for us, so not long

log = logging.getLogger("flightplan")


def judge(
    config: str | Sequence[str],
    *,
    mode: Mode,
    target: str,
    gpu: str | None,
    gpus: int | None,
    server: str | None,
    fail_closed: bool = False,
) -> Report | None:
    """The report, after logging its errors.

    None where nothing was judged: there is no training launch in it; or it is no text, or the server does not answer or
    cannot read it, which a launcher lets pass unless `fail_closed`.

    Raises:
        ConfigError: In mode "enforce", for a configuration that cannot run.
        RpcError, ServerNotStarted, UnicodeError: With `fail_closed`, where it could not be judged.
        ValueError: There is no such mode.
    """
    if mode not in get_args(Mode):
        raise ValueError(f"flightplan's mode is {mode!r}, must be one of {', '.join(get_args(Mode))}")
    try:
        with Client(server) as client:
            report = client.validate(config, target=target, gpu=gpu, gpus=gpus, timeout=_TIMEOUT_SECONDS)
    except (RpcError, ServerNotStarted, UnicodeError) as error:
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
