#!/usr/bin/env python3
"""miles' own launches (tests/data/miles_launches.tar.gz): each is told by itself where it shows what it is, read and judged. What its
authors run is not refused.

usage: miles_test.py FLIGHTPLAN_BINARY
"""
import os
import subprocess
import sys
import unittest

import kept_launches

FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))

# What does not start as it is written, and why.
REFUSED = {
    # Its defaults leave the nodes unsaid, and the launcher writes "--actor-num-nodes None --rollout-num-gpus None".
    "py/scripts/run_deepseek_v32/full_train.sh": "mlm.argparse",
    "py/scripts/run_deepseek_v32/train.sh": "mlm.argparse",
    # --qkv-format bshd beside --use-dynamic-batch-size: miles/utils/arguments.py:3516 asserts that it is not there.
    "py/scripts/run_gemma_4_26b_a4b/full_train.sh": "miles.goes-with",
    "py/scripts/run_gemma_4_26b_a4b/train.sh": "miles.goes-with",
    "py/scripts/run_gemma_4_31b/full_train.sh": "miles.goes-with",
    "py/scripts/run_gemma_4_31b/train.sh": "miles.goes-with",
    # --filter-zero-reward-samples is added by no parser of that commit.
    "sh/examples/lora/run-kimi-k25-megatron-lora.sh": "miles.unknown-flag",
}

QWEN = "py/scripts/run_qwen3_30b_a3b/execute.sh"
LORA = "sh/examples/lora/run-qwen3-4B-megatron-lora.sh"


class Miles(kept_launches.KeptLaunches):
    flightplan = FLIGHTPLAN
    archive = "miles_launches.tar.gz"

    def test_no_launch_of_its_authors_is_refused_without_a_reason(self):
        self.assertEqual(len(self.launches), 105)
        self.assert_refused_as(REFUSED)
        for path in self.launches:
            if self.judge(path)["target"] == "slime main":
                self.assertEqual(self.errors(self.judge(path, "--target", "miles")), [], path)

    def test_they_are_told_by_themselves(self):
        told = [path for path in self.launches if self.judge(path)["target"] == "miles main"]
        # The others run a train.py in whatever folder, with no word that slime has not.
        self.assertEqual(len(told), 91)
        self.assertEqual({self.judge(path)["target"] for path in self.launches}, {"miles main", "slime main"})

    def test_what_torch_trains_is_left_aside(self):
        fsdp = [path for path in self.launches if "--train-backend fsdp" in path.read_text()]
        self.assertEqual(len(fsdp), 5)
        for path in fsdp:
            rules = [f["rule_id"] for f in self.judge(path)["findings"]]
            self.assertEqual(rules, ["miles.other-backend"], path)

    def test_what_miles_sets_is_judged(self):
        answer = self.judge(self.root / QWEN)
        for knob, value in (("num_layers", "48"), ("use_distributed_optimizer", True), ("bf16", True),
                            ("seq_length", "32768"), ("max_position_embeddings", "32768")):
            self.assertEqual(self.value(answer, knob), value, knob)
        self.assertIn(answer["memory"]["fit"], ("FIT_VERDICT_FITS", "FIT_VERDICT_MARGINAL"))

    def test_adapters_are_weighed(self):
        answer = self.judge(self.root / LORA)
        self.assertEqual(self.value(answer, "peft.dim"), "32")
        self.assertEqual(answer["memory"]["fit"], "FIT_VERDICT_FITS")

    def test_the_engine_has_memory_where_it_stays_awake(self):
        text = (self.root / QWEN).read_text()
        path = self.root / "awake.sh"
        path.write_text(text.replace("--colocate", "--colocate --no-offload-rollout"))
        awake = self.judge(path)["memory"]
        self.assertEqual(awake["fit"], "FIT_VERDICT_UNKNOWN")  # 0.7 of the GPU is the engine's; no word that it will run
        path.write_text(text.replace("--colocate", "--colocate --offload-rollout-level kv_cache"))
        self.assertEqual(self.judge(path)["memory"]["fit"], "FIT_VERDICT_UNKNOWN")

    def test_a_layout_that_cannot_be_is_repaired_in_the_text(self):
        path = self.root / "broken.sh"
        text = (self.root / QWEN).read_text()
        path.write_text(text.replace("--expert-model-parallel-size 8", "--expert-model-parallel-size 6"))
        self.assertIn("mlm.experts-divisible-ep", [rule for rule, _ in self.errors(self.judge(path))])
        done = self.ask("fix", path)
        self.assertIn("--expert-model-parallel-size 6", done.stdout, done.stderr)

    def test_it_is_converted_with_what_miles_sets(self):
        done = self.ask("convert", self.root / QWEN, "--from", "miles", "--to", "megatron-lm")
        for words in ("--num-layers 48", "--use-distributed-optimizer", "--bf16", "--expert-model-parallel-size 8"):
            self.assertIn(words, done.stdout, done.stderr)

    def test_a_plan_is_written_for_it_and_read_again(self):
        done = subprocess.run([FLIGHTPLAN, "resolve", "--target", "miles", "--model", "qwen3-30b-a3b", "--gpu", "h100-sxm", "--gpus",
                               "16", "--tp", "2", "--pp", "1", "--ep", "8", "--format", "shell"], capture_output=True, text=True,
                              timeout=120, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("train.py --actor-num-nodes 2 --actor-num-gpus-per-node 8 --colocate", done.stdout)
        path = self.root / "plan.sh"
        path.write_text("HF_CHECKPOINT=/m PROMPT_DATA=/d\nNUM_ROLLOUT=8\nROLLOUT_BATCH_SIZE=64\n" + done.stdout)
        answer = self.judge(path, "--target", "miles")
        self.assertEqual(answer["target"], "miles main")
        self.assertEqual(self.errors(answer), [])


if __name__ == "__main__":
    unittest.main()
