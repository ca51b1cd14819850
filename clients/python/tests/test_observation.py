"""A run beside its forecast."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import BINARY

import flightplan


def report(iteration: int, ms: float, batch: int = 256) -> str:
    return (
        f" iteration {iteration:8d}/     100 | elapsed time per iteration (ms): {ms:.1f} | "
        f"global batch size: {batch:5d} | lm loss: 2.0E+00 |\n"
    )


@pytest.fixture(autouse=True)
def _program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLIGHTPLAN_BINARY", str(BINARY))


def test_a_plan_observes_its_run(tmp_path: Path) -> None:
    plan = flightplan.resolve("qwen3-30b-a3b", gpu="h100-sxm", gpus=16, tp=1, pp=1, ep=8, global_batch_size=256)
    assert plan.step_time_seconds is not None
    log = tmp_path / "run.log"
    log.write_text("".join(report(i, 1000 * plan.step_time_seconds) for i in range(1, 12)))
    seen = plan.observe(log, gpu="h100-sxm")
    assert seen.matches_launch, seen.answer["mismatches"]
    assert seen.step_time_seconds == pytest.approx(plan.step_time_seconds, rel=1e-3)
    step = seen.figures["step_time_us"]
    assert step.verdict == "inside"
    assert step.forecast == pytest.approx(1e6 * plan.step_time_seconds, rel=0.05)


def test_a_run_of_another_launch(tmp_path: Path) -> None:
    plan = flightplan.resolve("qwen3-30b-a3b", gpu="h100-sxm", gpus=16, tp=1, pp=1, ep=8, global_batch_size=256)
    log = tmp_path / "run.log"
    log.write_text("".join(report(i, 4000, batch=512) for i in range(1, 12)))
    seen = plan.observe(log, gpu="h100-sxm")
    assert not seen.matches_launch
    assert "not a run of the launch" in str(seen)


def test_a_log_alone_and_a_log_that_is_not_there(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text("".join(report(i, 4000) for i in range(1, 12)))
    assert flightplan.observe(log).step_time_seconds == pytest.approx(4.0)
    with pytest.raises(ValueError, match="cannot read"):
        flightplan.observe(tmp_path / "none.log")
