#!/usr/bin/env python3
"""Writes perf_recipes.tsv: the flat performance recipes of Megatron-Bridge, as overrides of its ConfigContainer.

usage: import_perf_recipes.py CHECKOUT
The values are those of tests/data/recipes.jsonl.gz; the names of the functions, and which of several GPU counts the harness
takes by default, are read from the checkout (the commit that the rows name).
"""
import gzip
import json
import pathlib
import re
import sys

from gen_perf_recipes import COLUMNS, FUNCTION

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMIT = "NVIDIA-NeMo/Megatron-Bridge@067f987df"


def text(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ",".join(text(item) for item in value) + "]"
    return f"'{value}'" if isinstance(value, str) and re.search(r"[^A-Za-z0-9_./-]", value) else str(value)


PRECISIONS = {"bf16": "bf16_mixed", "fp8_cs": "bf16_with_fp8_current_scaling_mixed", "mxfp8": "bf16_with_mxfp8_mixed",
              "fp8_ds": "bf16_with_fp8_delayed_scaling_mixed", "nvfp4": "bf16_with_nvfp4_mixed",
              "fp8_block": "bf16_with_fp8_subchannel_scaling_mixed"}


def overrides(row):
    extra, out = row["extra"], []
    if row["precision"] in PRECISIONS:
        out.append(f"mixed_precision={PRECISIONS[row['precision']]}")
        out.append(f"mixed_precision.first_last_layers_bf16={text(bool(extra.get('first_last_layers_bf16')))}")

    def put(field, value):
        if value is not None:
            out.append(f"{field}={text(value)}")

    for name, field in (("tp", "tensor_model_parallel_size"), ("pp", "pipeline_model_parallel_size"),
                        ("cp", "context_parallel_size"), ("ep", "expert_model_parallel_size"),
                        ("etp", "expert_tensor_parallel_size"), ("seq", "seq_length")):
        put(f"model.{field}", row[name])
    put("model.virtual_pipeline_model_parallel_size", row["vp"] if (row["vp"] or 1) > 1 else None)
    put("model.pipeline_model_parallel_layout", extra.get("pp_layout"))
    put("model.sequence_parallel", extra.get("sequence_parallel"))
    put("dataset.seq_length", row["seq"])
    put("train.global_batch_size", row["gbs"])
    put("train.micro_batch_size", row["mbs"])
    if row["dispatcher"] in ("deepep", "hybridep"):
        put("model.moe_token_dispatcher_type", "flex")
        put("model.moe_flex_dispatcher_backend", row["dispatcher"])
    else:
        put("model.moe_token_dispatcher_type", row["dispatcher"])
    put("comm_overlap.overlap_moe_expert_parallel_comm", row["moe_a2a_overlap"])
    put("comm_overlap.delay_wgrad_compute", row["delay_wgrad"])
    put("comm_overlap.tp_comm_overlap", extra.get("tp_comm_overlap_flag"))
    put("model.moe_shared_expert_overlap", row["shared_expert_overlap"])
    if row["recompute_granularity"] != "none":
        put("model.recompute_granularity", row["recompute_granularity"])
        put("model.recompute_modules", row["recompute_modules"] or None)
        put("model.recompute_method", extra.get("recompute_method"))
        put("model.recompute_num_layers", extra.get("recompute_num_layers"))
    put("model.cuda_graph_impl", row["cuda_graph_impl"])
    if row["cuda_graph_scope"] and row["cuda_graph_impl"] != "full_iteration":
        put("model.cuda_graph_scope", row["cuda_graph_scope"])
    put("rng.te_rng_tracker", row["cuda_graph_impl"] != "none")
    put("model.use_te_rng_tracker", row["cuda_graph_impl"] != "none")
    for name in ("moe_router_fusion", "moe_permute_fusion", "mtp_num_layers", "gradient_accumulation_fusion"):
        put(f"model.{name}", extra.get(name))
    put("model.moe_router_force_load_balancing", extra.get("force_load_balancing"))
    if row["dispatcher"] == "hybridep":
        put("model.moe_hybridep_num_sms", row["num_sms"])
    put("optimizer.optimizer", extra.get("optimizer"))
    put("ddp.nccl_ub", extra.get("nccl_ub"))
    if extra.get("fsdp"):
        put("ddp.use_megatron_fsdp", True)
        put("ddp.data_parallel_sharding_strategy", extra.get("fsdp_sharding"))
    for name, value in sorted(row["env"].items()):
        put(f"env_vars.{name}", str(value))
    return out


def function_of(checkout, row):
    path, line = row["source"].split(":", 1)[1].rsplit(":", 1)
    lines = (checkout / path).read_text().splitlines()
    for at in range(int(line) - 1, -1, -1):
        if found := re.match(r"def (\w+)\(", lines[at]):
            return found[1]
    return None


def main(checkout):
    defaults = set()
    utils = (checkout / "scripts/performance/utils/utils.py").read_text()
    for name, task, gpu, precision, count in re.findall(
            r'\("(\w+)", "(\w+)", "(\w+)", "(\w+)", None\): (\d+)', utils):
        defaults.add(f"{name}_{task}_{count}gpu_{gpu}_{precision}_config")
    rows = {}
    with gzip.open(ROOT / "tests/data/recipes.jsonl.gz", "rt") as lines:
        for row in map(json.loads, lines):
            if not row["source"].startswith(f"{COMMIT}:src/megatron/bridge/perf_recipes/"):
                continue
            if name := function_of(checkout, row):
                rows.setdefault(name, row)
    out = [f"# The flat performance recipes of {COMMIT}, by import_perf_recipes.py: the function, whether the harness takes",
           "# it among several GPU counts, the model on the Hugging Face hub, where the function's values stand, and what it",
           "# sets, in Bridge's own spelling (a JSON list).", "\t".join(COLUMNS)]
    for name, row in sorted(rows.items()):
        if not re.fullmatch(FUNCTION, name):
            continue
        fields = (name, "yes" if name in defaults else "no", row["extra"].get("hf_model") or "-",
                  row["source"].removeprefix(f"{COMMIT}:src/megatron/bridge/perf_recipes/"),
                  json.dumps(overrides(row), separators=(",", ":")))
        out.append("\t".join(fields))
    (ROOT / "resolver/catalog/perf_recipes.tsv").write_text("\n".join(out) + "\n")
    print(len(rows), "recipes")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
