"""A NeMo-Run plugin: a script's arguments are judged before the experiment is submitted.

run.Experiment(...).add(script, executor=executor, plugins=[FlightplanPlugin(gpu="h100-sxm")])
"""

from __future__ import annotations

import dataclasses
from typing import Any

import nemo_run

from flightplan.integrations._gate import Mode, judge, log
from flightplan.plan import Report


@dataclasses.dataclass(kw_only=True)
class FlightplanPlugin(nemo_run.Plugin):  # type: ignore[misc, unused-ignore]
    """Judges the arguments of each nemo_run.Script it is given; other tasks are left alone."""

    gpu: str | None = None
    """The GPU system; None: hardware rules are not judged."""
    target: str = "megatron-bridge"
    mode: Mode = "enforce"
    server: str | None = None
    fail_closed: bool = False
    """Refuse also what could not be judged."""
    report: Report | None = dataclasses.field(init=False, default=None, repr=False)
    """The last one."""

    def setup(self, task: Any, executor: Any) -> None:
        """Called by NeMo-Run with each task before it is submitted. Raises ConfigError to refuse it."""
        if not isinstance(task, nemo_run.Script):
            log.info("not judged: %s is no script", type(task).__name__)
            return
        self.report = judge(
            [str(argument) for argument in task.args],
            mode=self.mode,
            target=self.target,
            gpu=self.gpu,
            gpus=executor.nnodes() * executor.nproc_per_node(),
            server=self.server,
            fail_closed=self.fail_closed,
        )
