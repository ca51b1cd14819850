"""A SkyPilot admin policy: the `run` text of a task is judged before anything is provisioned; and what its job did.

admin_policy: flightplan.integrations.skypilot.FlightplanPolicy

in SkyPilot's config. Settings are environment variables of its server: FLIGHTPLAN_SERVER, FLIGHTPLAN_TARGET (default:
the stack that the text shows), FLIGHTPLAN_MODE (shadow, warn, enforce; default enforce), FLIGHTPLAN_FAIL_CLOSED=1.
After the run, where the task was launched:

    flightplan.integrations.skypilot.observe(task, "my-cluster", job_id)
"""

from __future__ import annotations

import os
from typing import Any, cast

import sky

from flightplan.integrations._gate import Mode, judge, log, look_back
from flightplan.observation import Observation

# SkyPilot's accelerators by the catalogue's names; of others only the count is used.
_GPUS = {
    "A100-80GB": "a100-80gb",
    "H100": "h100-sxm",
    "H200": "h200-sxm",
    "B200": "b200",
    "GB200": "gb200-nvl72",
    "H20": "h20",
}


class FlightplanPolicy(sky.AdminPolicy):  # type: ignore[misc, unused-ignore]
    """Refuses a task whose training launch cannot run, with every fault and its fixes."""

    @classmethod
    def validate_and_mutate(cls, user_request: Any) -> Any:
        """Called by SkyPilot with each request. Raises ConfigError to refuse it; never changes it."""
        task = user_request.task
        if isinstance(task.run, str):
            name, count = _accelerator(task)
            judge(
                task.run,
                mode=cast(Mode, os.environ.get("FLIGHTPLAN_MODE", "enforce")),
                target=os.environ.get("FLIGHTPLAN_TARGET") or None,
                gpu=_GPUS.get(name),
                gpus=count * (task.num_nodes or 1) or None,
                server=None,
                fail_closed=os.environ.get("FLIGHTPLAN_FAIL_CLOSED") == "1",
            )
        else:
            log.info("not judged: the task's run is no text")
        return sky.MutatedUserRequest(task, user_request.skypilot_config)


def observe(
    task: Any,
    cluster: str,
    job_id: int | None = None,
    *,
    target: str | None = None,
    model: str | None = None,
    server: str | None = None,
) -> Observation | None:
    """What a job of the task printed, beside its forecast, logged; None where it could not be read.

    SkyPilot brings the job's logs (None: the last job's) from the cluster to this machine, where they are read. With
    `model`, the model's name in the catalogue, and a `server` its figures are reported to that server's evidence.
    """
    if not isinstance(task.run, str):
        log.info("not observed: the task's run is no text")
        return None
    jobs = None if job_id is None else [str(job_id)]
    folders = sky.download_logs(cluster, jobs)
    if not folders:
        log.info("not observed: %s has no logs of it", cluster)
        return None
    name, count = _accelerator(task)
    # Job ids are numbers, written down: the last one is the largest.
    folder = folders[max(folders, key=lambda job: (len(job), job))]
    return look_back(
        os.path.expanduser(folder),
        task.run,
        target=target,
        gpu=_GPUS.get(name),
        gpus=count * (task.num_nodes or 1) or None,
        model=model,
        cluster=cluster,
        server=server,
    )


def _accelerator(task: Any) -> tuple[str, int]:
    """Name and count on one node; the first of the alternatives that the task allows."""
    for resources in task.resources:
        for name, count in (resources.accelerators or {}).items():
            return str(name), int(count)
    return "", 0
