"""A NeMo-Run plugin: a script's arguments are judged before the experiment is submitted, its run is observed after it.

plugin = FlightplanPlugin(gpu="h100-sxm")
with run.Experiment("pretrain") as experiment:
    experiment.add(script, executor=executor, plugins=[plugin])
    experiment.run()
plugin.observe()
"""

from __future__ import annotations

import dataclasses
import os
import shlex
from typing import Any

import nemo_run

from flightplan.integrations._gate import Mode, judge, log, look_back
from flightplan.observation import Observation
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
    model: str | None = None
    """The model's name in the catalogue; with it and a `server`, `observe` reports the run to that server."""
    cluster: str | None = None
    """Of such a report: where it ran, as you name it."""
    report: Report | None = dataclasses.field(init=False, default=None, repr=False)
    """The last one."""
    _launch: tuple[str, int, Any] | None = dataclasses.field(init=False, default=None, repr=False)
    """Of the last script: as a line of a shell, its GPUs, and its executor, which comes to know the run's folder."""

    def setup(self, task: Any, executor: Any) -> None:
        """Called by NeMo-Run with each task before it is submitted. Raises ConfigError to refuse it."""
        if not isinstance(task, nemo_run.Script):
            log.info("not judged: %s is no script", type(task).__name__)
            return
        arguments = [str(argument) for argument in task.args]
        gpus = executor.nnodes() * executor.nproc_per_node()
        self._launch = (shlex.join(["python", task.path or "inline.py", *arguments]) + "\n", gpus, executor)
        self.report = judge(
            arguments,
            mode=self.mode,
            target=self.target,
            gpu=self.gpu,
            gpus=gpus,
            server=self.server,
            fail_closed=self.fail_closed,
        )

    def observe(self, logs: str | os.PathLike[str] | None = None) -> Observation | None:
        """What the last script's run printed, beside its forecast, logged; None where it could not be read.

        `logs` is a file or a folder; None: the folder that NeMo-Run gave to the task on this machine. A run on a
        cluster is read once its logs are here (`experiment.logs`, or the cluster's file system).
        """
        if self._launch is None:
            log.info("not observed: no script was judged")
            return None
        launch, gpus, executor = self._launch
        folder = logs if logs is not None else executor.job_dir
        if not folder:
            log.info("not observed: the experiment did not run")
            return None
        return look_back(
            folder,
            launch,
            target=self.target,
            gpu=self.gpu,
            gpus=gpus,
            model=self.model,
            cluster=self.cluster,
            server=self.server,
        )
