"""What the launchers' plugins share, without the launchers."""

from __future__ import annotations

from typing import Any

import pytest

import flightplan
from flightplan.integrations._gate import judge

REFUSED = ["--num-layers", "24", "--recompute-granularity", "full"]
SETTINGS: dict[str, Any] = {"target": "megatron-lm", "gpu": None, "gpus": 8, "server": None}


def test_modes() -> None:
    with pytest.raises(flightplan.ConfigError, match="recompute.full-needs-method"):
        judge(REFUSED, mode="enforce", **SETTINGS)
    for mode in ("warn", "shadow"):
        report = judge(REFUSED, mode=mode, **SETTINGS)
        assert report is not None
        assert not report.ok
    with pytest.raises(ValueError, match="'enfroce', must be one of shadow, warn, enforce"):
        judge(REFUSED, mode="enfroce", **SETTINGS)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "config",
    ["", "echo hello", "train.sh", "\udcff --num-layers", "# " + "x" * (10 << 20), ["\udc80"], "$(touch owned)"],
    ids=["empty", "no-training", "one-word", "no-text", "10-MiB", "no-text-argument", "hostile"],
)
def test_what_cannot_be_judged_passes(config: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert judge(config, mode="enforce", **SETTINGS) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("config", ["\udcff --num-layers", "# " + "x" * (10 << 20)], ids=["no-text", "10-MiB"])
def test_what_could_not_be_judged_is_refused_on_demand(config: str) -> None:
    with pytest.raises((flightplan.RpcError, UnicodeError)):
        judge(config, mode="enforce", fail_closed=True, **SETTINGS)


def test_a_server_that_may_not_be_asked_stops_no_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = {**SETTINGS, "server": "192.0.2.1:1"}
    monkeypatch.setenv("FLIGHTPLAN_TOKEN", "s3cret")
    assert judge(REFUSED, mode="enforce", **elsewhere) is None
    with pytest.raises(ValueError, match=r"in plain text: set FLIGHTPLAN_CA_FILE"):
        judge(REFUSED, mode="enforce", fail_closed=True, **elsewhere)
    monkeypatch.setenv("FLIGHTPLAN_CA_FILE", "nowhere")
    assert judge(REFUSED, mode="enforce", **elsewhere) is None


def test_a_text_is_judged_for_the_stack_that_it_shows() -> None:
    launch = "torchrun scripts/training/run_recipe.py --recipe qwen3_30b_a3b_pretrain_config model.num_layers=4"
    report = judge(launch, mode="shadow", **{**SETTINGS, "target": None})
    assert report is not None
    assert report.target == "megatron-bridge main"
