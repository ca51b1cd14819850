#!/usr/bin/env python3
"""The snippets of seeds/, verbatim: each is read to its last word, and judged right, alone and in a launch around it.

usage: seeds_test.py FLIGHTPLAN_BINARY
"""
import json
import os
import pathlib
import subprocess
import sys
import unittest

FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))
SEEDS = pathlib.Path(__file__).parent / "seeds"

# Launches that the snippets of each stack belong into.
LOONGFORGE = """export CUDA_DEVICE_MAX_CONNECTIONS=32
torchrun --nnodes 64 --nproc-per-node 8 $LOONGFORGE_PATH/loongforge/train.py --model-name deepseek-v3 \\
    --training-phase pretrain --bf16 --seq-length 4096 --micro-batch-size 1 --global-batch-size 1024 --train-iters 100 --lr 1e-5 \\
    --pipeline-model-parallel-size 8 --num-virtual-stages-per-pipeline-rank 2 --expert-model-parallel-size 16 \\
    --custom-pipeline-layers 8,7,8,8,8,8,8,6 --moe-token-dispatcher-type alltoall --use-distributed-optimizer \\
    {flags}
"""
MEGATRON = """export CUDA_DEVICE_MAX_CONNECTIONS={connections}
torchrun --nnodes 4 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --sequence-parallel \\
    --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
    --num-experts 16 --moe-ffn-hidden-size 2048 --expert-model-parallel-size 16 --moe-router-topk 2 --moe-grouped-gemm \\
    --disable-bias-linear \\
    --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 128 --bf16 --train-iters 10 \\
    --lr 1e-4 --mock-data --tokenizer-type NullTokenizer --vocab-size 32000 --use-distributed-optimizer \\
    --moe-token-dispatcher-type {dispatcher} {flags}
"""


def validate(*args, stdin=None):
    run = subprocess.run([FLIGHTPLAN, "validate", *args, "--format", "json"], input=stdin, capture_output=True, text=True,
                         check=False)
    assert run.returncode in (0, 1), (args, run.stdout, run.stderr)
    return json.loads(run.stdout)


def errors(answer):
    return [f["rule_id"] for f in answer.get("findings", []) if f["severity"] == "SEVERITY_ERROR"]


def written(answer):
    """The knobs that the text says, by name."""
    out = {}
    for entry in answer.get("config", []):
        if entry["origin"] == "CONFIG_ORIGIN_CALLER":
            out[entry["name"]] = next(iter(entry.get("value", {"": None}).values()), None)
    return out


def flags(name):
    return (SEEDS / name).read_text().rstrip("\n")


class Harness(unittest.TestCase):
    """Seed 000's command of the performance harness: -mr, -g and -ng say the model, the GPU and the size."""

    def setUp(self):
        self.answer = validate(str(SEEDS / "000_harness.sh"))

    def test_it_is_accepted_runs_and_is_weighed(self):
        self.assertEqual(errors(self.answer), [])
        self.assertEqual(self.answer["completeness"], "COMPLETENESS_FULL")
        self.assertTrue(self.answer["accepted_by_stack"] and self.answer["will_run"])
        self.assertIn("estimate", self.answer)
        self.assertEqual(self.answer["target"], "megatron-bridge main")

    def test_the_recipe_says_what_the_words_do_not(self):
        values = {e["name"]: next(iter(e.get("value", {"": None}).values()), None) for e in self.answer["config"]}
        self.assertEqual((values["expert_model_parallel_size"], values["num_moe_experts"]), ("16", "128"))
        self.assertEqual((values["moe_token_dispatcher_type"], values["cuda_graph_impl"]), ("alltoall", "none"))
        self.assertTrue(values["overlap_moe_expert_parallel_comm"])

    def test_newer_code_is_followed_and_the_finding_says_so(self):
        self.assertIn("bridge-perf.variant-label", [f["rule_id"] for f in self.answer["findings"]])

    def test_the_overlap_under_test_is_not_repaired_away(self):
        run = subprocess.run([FLIGHTPLAN, "fix", str(SEEDS / "000_harness.sh")], capture_output=True, text=True, check=False)
        self.assertEqual((run.returncode, run.stdout), (0, ""))
        self.assertIn("nothing to repair", run.stderr)

    def test_the_advice_beside_it_is_an_override(self):
        text = flags("000_harness.sh") + " \\\n  model.moe_permute_fusion=false\n"
        answer = validate("-", stdin=text)
        self.assertEqual(errors(answer), [])
        self.assertIs(written(answer)["moe_permute_fusion"], False)


class PythonLines(unittest.TestCase):
    def test_each_line_is_a_field(self):
        answer = validate(str(SEEDS / "000_enable.py"))
        self.assertEqual((answer["target"], answer["input_format"]), ("megatron-bridge main", "bridge-python"))
        self.assertEqual(errors(answer), [])
        self.assertEqual(answer["completeness"], "COMPLETENESS_PARTIAL")  # what it needs beside it stands in the recipe
        said = written(answer)
        self.assertTrue(said["comm_overlap.overlap_moe_expert_parallel_comm"])
        self.assertTrue(said["comm_overlap.delay_wgrad_compute"])
        self.assertFalse(said["moe_shared_expert_overlap"])

    def test_a_recipe_by_its_name_is_what_they_change(self):
        text = "cfg = qwen3_30b_a3b_pretrain_16gpu_h100_bf16_config()\n" + (SEEDS / "000_enable.py").read_text()
        answer = validate("-", "--gpu", "h100-sxm", "--gpus", "16", stdin="cfg.rng.seed = 1\n" + text)
        self.assertEqual(errors(answer), [])
        self.assertEqual(answer["completeness"], "COMPLETENESS_FULL")

    def test_what_contradicts_is_found(self):
        text = ("cfg.comm_overlap.overlap_moe_expert_parallel_comm = True\ncfg.model.moe_shared_expert_overlap = True\n"
                "cfg.model.no_such_field_here = 3\ncfg.comm_overlap.delay_wgrad_computes = True\n")
        found = errors(validate("-", stdin=text))
        self.assertIn("bridge-override.unknown", found)
        self.assertTrue(any("shared" in rule for rule in found), found)


class Flags(unittest.TestCase):
    """Flags with backslashes behind them, without a launch around them."""

    LOONGFORGE = ("003_overlap.args", "003_recompute.args", "003_offload.args", "003_bindpcie.args")
    MEGATRON = ("002_overlaps.args", "004_deepep.args", "004_hybridep.args", "004_balancing.args")

    def test_alone_nothing_of_them_is_refused(self):
        for name in self.LOONGFORGE + self.MEGATRON:
            target = "loongforge" if name in self.LOONGFORGE else "megatron-lm"
            answer = validate(str(SEEDS / name), "--target", target)
            with self.subTest(name):
                self.assertEqual(errors(answer), [])
                self.assertNotEqual(answer["completeness"], "COMPLETENESS_FULL")

    def test_their_last_flag_is_read(self):
        said = written(validate(str(SEEDS / "003_overlap.args"), "--target", "loongforge"))
        self.assertTrue(said["overlap_moe_expert_parallel_comm"] and said["delay_wgrad_compute"])

    def test_loongforge_accepts_all_of_them_together(self):
        text = LOONGFORGE.format(flags=" \\\n    ".join(flags(name) for name in self.LOONGFORGE))
        answer = validate("-", "--gpu", "h200-sxm", stdin=text)
        self.assertEqual(answer["target"], "loongforge main")
        self.assertEqual(errors(answer), [])

    def test_megatron_lm_accepts_each(self):
        for name in self.MEGATRON:
            dispatcher = "flex --moe-flex-dispatcher-backend " + name[4:-5] if "ep.args" in name else "alltoall"
            connections = 32 if "overlaps" in name else 1
            text = MEGATRON.format(flags=flags(name).replace("\n", " "), dispatcher=dispatcher, connections=connections)
            answer = validate("-", "--gpu", "h100-sxm", stdin=text)
            with self.subTest(name):
                self.assertEqual(errors(answer), [])

    def test_a_flag_that_the_code_spells_otherwise_is_named(self):
        answer = validate(str(SEEDS / "002_fake.args"), "--target", "megatron-lm")
        self.assertEqual(errors(answer), ["mlm.argparse"])
        self.assertIn("--fake-process-group", answer["findings"][0]["needs"])

    def test_a_script_of_exports_is_no_launch(self):
        answer = validate(str(SEEDS / "003_connections.sh"), "--target", "loongforge")
        self.assertEqual((errors(answer), answer["completeness"]), ([], "COMPLETENESS_NONE"))


if __name__ == "__main__":
    unittest.main()
