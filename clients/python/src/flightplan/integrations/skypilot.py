"""A SkyPilot admin policy: the `run` text of a task is judged before anything is provisioned.

admin_policy: flightplan.integrations.skypilot.FlightplanPolicy

in SkyPilot's config. Settings are environment variables of its server: FLIGHTPLAN_SERVER, FLIGHTPLAN_TARGET (default
megatron-lm), FLIGHTPLAN_MODE (shadow, warn, enforce; default enforce), FLIGHTPLAN_FAIL_CLOSED=1.
"""

from __future__ import annotations

import os
from typing import Any, cast

import sky

from flightplan.integrations._gate import Mode, judge, log

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
                target=os.environ.get("FLIGHTPLAN_TARGET", "megatron-lm"),
                gpu=_GPUS.get(name),
                gpus=count * (task.num_nodes or 1) or None,
                server=None,
                fail_closed=os.environ.get("FLIGHTPLAN_FAIL_CLOSED") == "1",
            )
        else:
            log.info("not judged: the task's run is no text")
        return sky.MutatedUserRequest(task, user_request.skypilot_config)


def _accelerator(task: Any) -> tuple[str, int]:
    """Name and count on one node; the first of the alternatives that the task allows."""
    for resources in task.resources:
        for name, count in (resources.accelerators or {}).items():
            return str(name), int(count)
    return "", 0
