"""The thin layer against a real server: one that is named (gRPC's library) and the process's own (h2)."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import grpc
import pytest
from conftest import SMALL

import flightplan
from flightplan.v1 import resolver_service_pb2

REFUSED = {"moe_shared_expert_overlap": True, "overlap_moe_expert_parallel_comm": True}
DEEPSEEK: dict[str, Any] = {"gpu": "h100-sxm", "gpus": 1024, "tp": 2, "pp": 8, "vpp": 4, "ep": 64}

pytestmark = pytest.mark.usefixtures("_servers")


def small(**more: Any) -> flightplan.Plan:
    return flightplan.resolve("qwen3-30b-a3b", **{**SMALL, **more})


def test_a_plan_has_a_launch() -> None:
    plan = small()
    assert plan.ok
    assert plan.resolved
    assert plan.argv[plan.argv.index("--expert-model-parallel-size") + 1] == "8"
    assert "CUDA_DEVICE_MAX_CONNECTIONS" in plan.env
    assert "model.expert_model_parallel_size=8" in plan.bridge_overrides
    assert plan.config["num_moe_experts"] == 128
    assert plan.layout["dp"] == 16
    assert plan.memory is not None
    assert plan.memory.low_gib <= plan.memory.gib <= plan.memory.high_gib
    assert "--num-experts 128" in plan.shell
    assert plan.digest in repr(plan)
    plan.check()


def test_a_dialect_that_was_not_asked_for_says_how_to_ask() -> None:
    with pytest.raises(LookupError, match="dialects=\\['loongforge'\\]"):
        small().launch("loongforge")


def test_explain_a_decision_a_pinned_knob_and_nothing() -> None:
    plan = small(knobs={"moe_permute_fusion": True}, dispatchers=[])
    decided = plan.explain("moe_token_dispatcher_type")
    assert decided.value == "alltoall"
    assert decided.origin == "decided"
    assert decided.reason
    assert str(decided).startswith("moe_token_dispatcher_type = alltoall")
    pinned = plan.explain("moe_permute_fusion")
    assert (pinned.value, pinned.origin) == (True, "caller")
    with pytest.raises(KeyError, match="no_such_knob"):
        plan.explain("no_such_knob")


def test_a_refused_plan_is_a_value_or_an_exception() -> None:
    plan = flightplan.resolve("deepseek-v3", knobs=REFUSED, **DEEPSEEK)
    assert not plan.ok
    assert not plan.resolved
    fault = next(finding for finding in plan.findings if finding.level == "error")
    assert fault.rule_id == "ep-overlap.no-shared-expert-overlap"
    assert {"moe_shared_expert_overlap": False} in [dict(fix.knobs) for fix in fault.fixes]
    with pytest.raises(flightplan.ConfigError, match="fix: moe_shared_expert_overlap=false") as caught:
        flightplan.resolve("deepseek-v3", knobs=REFUSED, strict=True, **DEEPSEEK)
    assert caught.value.findings[0].rule_id == fault.rule_id


def test_notebooks_show_escaped_html() -> None:
    shown = small(env={"NOTE": "<script>"})._repr_html_()
    assert shown.startswith("<p")
    assert "<script>" not in shown
    report = flightplan.validate(["--num-layers", "24", "--recompute-granularity", "full"], gpus=8)
    assert "recompute.full-needs-method" in report._repr_html_()
    # Of a search a plan has no question of its own; it is shown as a table.
    shown = flightplan.Plan(small().response)._repr_html_()
    assert "<iframe" not in shown
    assert "moe_token_dispatcher_type" in shown


def test_notebooks_have_the_page_in_a_frame_of_its_own() -> None:
    plan = small(env={"NOTE": "%%report%%</script><b>"})
    frames: list[dict[str, str | None]] = []

    class Frames(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag == "iframe":
                frames.append(dict(attrs))

    Frames().feed(plan._repr_html_())
    (frame,) = frames
    assert frame["sandbox"] == "allow-scripts allow-downloads"
    document = frame["srcdoc"] or ""
    assert document == plan.page()
    assert document.startswith("<!doctype html>")
    assert "default-src 'none'" in document
    held = document.split('id="report">')[1].split("</script>")[0].split("\n")
    rpc, asked, answered = held[2].split(" ")[1:]
    assert rpc == "flightplan.v1.ResolverService/ResolveConfig"
    assert resolver_service_pb2.ResolveConfigRequest.FromString(b64decode(asked)) == plan.request
    assert resolver_service_pb2.ResolveConfigResponse.FromString(b64decode(answered)) == plan.response
    report = flightplan.validate(["--num-layers", "24", "--recompute-granularity", "full"], gpus=8)
    assert "flightplan.v1.ResolverService/ValidateConfig" in report.page()


def test_a_request_without_meaning_names_every_field() -> None:
    with pytest.raises(flightplan.InvalidRequest) as caught:
        flightplan.resolve("deepseek-v4x", gpu="h900", gpus=8)
    assert caught.value.reason == "REQUEST_INVALID"
    assert caught.value.code == grpc.StatusCode.INVALID_ARGUMENT
    assert {violation.field for violation in caught.value.violations} == {"model.name", "hardware.gpu"}
    with pytest.raises(ValueError, match="stage is one of bring-up, tune, production; not 'prod'"):
        small(stage="prod")


def test_model_from_a_config_json(tmp_path: Path) -> None:
    config = {
        "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_size": 2048,
        "intermediate_size": 6144, "num_hidden_layers": 24, "num_attention_heads": 32, "num_key_value_heads": 4,
        "head_dim": 128, "vocab_size": 151936, "num_experts": 64, "num_experts_per_tok": 8,
        "moe_intermediate_size": 768, "norm_topk_prob": True, "decoder_sparse_step": 1, "mlp_only_layers": [],
        "hidden_act": "silu", "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "max_position_embeddings": 40960,
        "tie_word_embeddings": False,
    }  # fmt: skip
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    model: Any
    for model in (config, path, str(path)):
        assert flightplan.resolve(model, **SMALL).config["num_moe_experts"] == 64


def test_software_and_dispatchers() -> None:
    plan = small(software={"torch": "2.9.0", "te": "2.12.0", "triton": "3.4.0"}, dispatchers=["deepep"])
    assert plan.config["moe_token_dispatcher_type"] in ("alltoall", "flex")
    none = small(dispatchers=[])
    assert none.config["moe_token_dispatcher_type"] == "alltoall"
    assert none.digest != small().digest  # "none is installed" is not "not known"


def test_validate_arguments_text_file_and_knobs(tmp_path: Path) -> None:
    arguments = ["--num-layers", "24", "--hidden-size", "1024", "--num-attention-heads", "16", "--seq-length", "4096",
                 "--max-position-embeddings", "4096", "--micro-batch-size", "1", "--recompute-granularity",
                 "full"]  # fmt: skip
    script = tmp_path / "pretrain.sh"
    script.write_text("torchrun pretrain_gpt.py " + " ".join(arguments) + "\n")
    config: Any
    for config in (arguments, script, script.read_text(), {"num_layers": 24, "recompute_granularity": "full"}):
        report = flightplan.validate(config, gpus=16)
        assert not report.accepted_by_stack
        assert "recompute.full-needs-method" in [finding.rule_id for finding in report.findings]
        assert report.not_judged
    repaired = flightplan.validate(arguments, gpus=16, repair=True).repaired
    assert isinstance(repaired, list)
    assert flightplan.validate(repaired, gpus=16, strict=True).will_run
    with pytest.raises(flightplan.ConfigError):
        flightplan.validate(arguments, gpus=16, strict=True)


def test_a_text_is_judged_for_the_stack_that_it_shows(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("torchrun scripts/training/run_recipe.py --recipe qwen3_30b_a3b_pretrain_config\n")
    config: Any
    for config in (script, script.read_text()):
        assert flightplan.validate(config, gpus=8).target == "megatron-bridge main"
        assert flightplan.validate(config, gpus=8, target="megatron-lm").target == "megatron-lm main"
    for config in (["--num-layers", "24"], {"num_layers": 24}):
        assert flightplan.validate(config, gpus=8).target == "megatron-lm main"


@pytest.mark.parametrize("name", ["train.sh", "missing.sh", "/jobs/train.sh", "~/a-b/c"])
def test_the_name_of_a_file_is_no_text(name: str) -> None:
    with pytest.raises(ValueError, match=r"is no text of a launch; .* pathlib\.Path\('"):
        flightplan.validate(name)


def test_the_name_of_a_file_with_spaces_is_no_text(tmp_path: Path) -> None:
    script = tmp_path / "my train.sh"
    script.write_text("torchrun pretrain_gpt.py --num-layers 24\n")
    with pytest.raises(ValueError, match="is no text of a launch"):
        flightplan.validate(str(script))


def test_what_was_not_judged_is_not_said_to_run() -> None:
    nothing = flightplan.validate("rm -rf checkpoints\n")
    assert (nothing.completeness, nothing.will_run, nothing.accepted_by_stack) == ("none", False, False)
    assert nothing.not_judged == ["no command in it runs a Python file"]
    assert repr(nothing).startswith("<Report: not judged, 0 findings, fp1-")
    part = flightplan.validate("torchrun pretrain_gpt.py $ARGS --num-layers 24\n", gpus=8)
    assert part.completeness == "partial"
    assert "megatron-lm main: not judged in full," in repr(part)
    assert flightplan.validate([]).completeness != "full"


def test_what_is_no_model_or_count_is_named_alone() -> None:
    with pytest.raises(TypeError, match="model is a name .* not None"):
        flightplan.resolve(None, gpu="h100-sxm", gpus=8)  # type: ignore[arg-type]
    with pytest.raises(flightplan.InvalidRequest) as caught:
        flightplan.resolve("deepseek-v3", gpu="h100-sxm", gpus=-1, tp=1)
    assert [violation.field for violation in caught.value.violations] == ["hardware.gpu_count"]


def test_a_page_has_the_same_bytes_each_time() -> None:
    env = {f"NOTE_{at}": str(at) for at in range(20)}
    shuffled = dict(reversed(list(env.items())))
    assert small(env=env).page() == small(env=shuffled).page()


def _calls(document: str) -> list[bytes]:
    """What a page holds: each request and answer."""
    lines = [line.split("\n")[0] for line in document.split("\ncall ")[1:]]
    return [b64decode(word) for line in lines for word in line.split(" ")[1:]]


def test_a_page_carries_no_secrets() -> None:
    document = small(env={"HF_TOKEN": "a b c", "NCCL_DEBUG": "INFO"}).page()
    calls = _calls(document)
    assert len(calls) == 2
    for call in calls:
        assert b"HF_TOKEN" in call
        assert b"a b c" not in call
    assert b"INFO" in calls[0]
    report = flightplan.validate("export WANDB_API_KEY=abcdef\ntorchrun pretrain_gpt.py --num-layers 24\n")
    assert b"WANDB_API_KEY=***\ntorchrun" in _calls(report.page())[0]


def test_files_that_are_no_launch(tmp_path: Path) -> None:
    endless = tmp_path / "endless.sh"
    endless.symlink_to("/dev/zero")
    with pytest.raises(ValueError, match="endless.sh is larger than 1 MiB"):
        flightplan.validate(endless)
    binary = tmp_path / "binary.sh"
    binary.write_bytes(b"#!/bin/bash\n\x7fELF\x80\xff")
    with pytest.raises(ValueError, match="binary.sh is no text: byte 16"):
        flightplan.validate(binary)
    with pytest.raises(FileNotFoundError):
        flightplan.validate(tmp_path / "missing.sh")
    owned = tmp_path / "owned"
    hostile = f"$(touch {owned})\n`touch {owned}`\ntorchrun pretrain_gpt.py --num-layers $(touch {owned}; echo 24)\n"
    assert flightplan.validate(hostile).not_judged
    assert not owned.exists()


def test_a_message_that_is_too_large_is_no_overload() -> None:
    with pytest.raises(flightplan.RpcError) as caught:
        flightplan.validate("# " + "x" * (10 << 20))
    assert caught.value.code == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert not isinstance(caught.value, flightplan.Unavailable)


def test_plan_layouts_reports_progress_and_keeps_what_is_given() -> None:
    plans = flightplan.plan_layouts("qwen3-30b-a3b", gpu="h100-sxm", gpus=16, count=2, ep=16, progress=lambda _: None)
    assert len(plans) == 2
    assert all(plan.resolved and plan.layout["ep"] == 16 for plan in plans)
    assert plans.space_count >= plans.judged_count > 0
    assert not [finding for finding in plans.findings if finding.level == "error"]


def test_a_knob_of_the_workload_is_its_word() -> None:
    assert small(knobs={"seq_length": 8192}).config["seq_length"] == 8192


def test_a_search_that_finds_nothing_says_why() -> None:
    none = flightplan.plan_layouts("deepseek-v3", gpu="h100-sxm", gpus=8)
    assert none == []
    assert next(finding.rule_id for finding in none.findings if finding.level == "error") == "plan.nothing-fits"


def test_catalogue_and_batch() -> None:
    with flightplan.Client() as client:
        assert client.rule("recompute.full-needs-method").kind == "error"
        assert client.knob("moe_token_dispatcher_type").type == "string"
        assert "deepseek-v3" in [model.name for model in client.models()]
        with pytest.raises(flightplan.NotFound) as caught:
            client.rule("no.such-rule")
        assert caught.value.reason == "RULE_UNKNOWN"
        requests = [resolver_service_pb2.BatchResolveRequest(request_id=str(i)) for i in range(20)]
        answers = {answer.request_id: answer.error.code for answer in client.batch(requests)}
        assert answers == {str(i): grpc.StatusCode.INVALID_ARGUMENT.value[0] for i in range(20)}


def test_no_server_and_too_little_time() -> None:
    with pytest.raises(flightplan.Unavailable) as caught:
        small(server="127.0.0.1:1")
    assert caught.value.reason == ""
    with pytest.raises(flightplan.DeadlineExceeded):
        small(timeout=-1)


def test_one_word_on_a_size() -> None:
    assert small(global_batch_size=64, knobs={"global_batch_size": 64}).config["global_batch_size"] == 64
    with pytest.raises(ValueError, match="knobs say global_batch_size=64, global_batch_size says 128"):
        small(global_batch_size=128, knobs={"global_batch_size": 64})


def test_asyncio() -> None:
    async def ask() -> None:
        async with flightplan.AsyncClient() as client:
            plans = await asyncio.gather(*(client.resolve("qwen3-30b-a3b", **SMALL) for _ in range(8)))
            assert len({plan.digest for plan in plans}) == 1
            report = await client.validate(["--num-layers", "24"], gpus=8)
            assert report.config["num_layers"] == 24
            found = await client.plan_layouts("qwen3-30b-a3b", "h100-sxm", 16, count=1)
            assert found[0].resolved
            requests = [resolver_service_pb2.BatchResolveRequest(request_id=str(i)) for i in range(20)]
            assert len([answer async for answer in client.batch(requests)]) == 20
            with pytest.raises(flightplan.InvalidRequest):
                await client.resolve("deepseek-v4x", "h100-sxm", 8)
            with pytest.raises(flightplan.ConfigError):
                await client.resolve("deepseek-v3", knobs=REFUSED, strict=True, **DEEPSEEK)

    asyncio.run(ask())
