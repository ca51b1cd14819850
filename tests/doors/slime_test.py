#!/usr/bin/env python3
"""slime's own scripts (tests/data/slime_scripts.tar.gz): each is told by itself, read with the model file that it sources, and
judged. What its authors run is not refused.

usage: slime_test.py FLIGHTPLAN_BINARY
"""
import json
import os
import subprocess
import sys
import unittest

import kept_launches

FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))

# What does not start as it is written, and why.
REFUSED = {
    # A backslash is missing behind --update-weight-buffer-size: train.py gets none of the lines below it.
    "scripts/run-kimi-k2-Instruct.sh": "input.continuation",
    # One node of 8 GPUs: TP 2 x PP 2 x CP 2 takes all, EP 8 x PP 2 would take 16.
    "scripts/run-glm4.7-30B-A3B.sh": "mesh.expert-world-divisible",
    # 47 layers on two stages, without --decoder-last-pipeline-num-layers.
    "examples/delta_weight_sync/run-glm4.7-30B-A3B-delta.sh": "mlm.layers-divisible-pp",
    # Sources no model file.
    "tests/test_gspo.sh": "model.zero-heads",
}


class Slime(kept_launches.KeptLaunches):
    flightplan = FLIGHTPLAN
    archive = "slime_scripts.tar.gz"

    def test_no_script_of_its_authors_is_refused_without_a_reason(self):
        self.assertGreaterEqual(len(self.launches), 40)
        for path in self.launches:
            self.assertEqual(self.judge(path)["target"], "slime main", path)
        self.assert_refused_as(REFUSED)

    def test_all_of_them_are_read_with_their_model(self):
        without = {str(path.relative_to(self.root)) for path in self.launches
                   if self.value(self.judge(path), "num_layers") is None}
        self.assertEqual(without, {"tests/test_gspo.sh"})  # none reaches train.py

    def test_what_slime_sets_is_judged(self):
        answer = self.judge(self.root / "scripts/run-qwen3-30B-A3B.sh")
        for knob, value in (("num_layers", "48"), ("use_distributed_optimizer", True), ("bf16", True),
                            ("seq_length", "20480")):
            self.assertEqual(self.value(answer, knob), value, knob)
        self.assertEqual(answer["wanted_files"], [])

    def test_without_the_checkout_it_says_what_it_wants(self):
        path = self.root / "scripts/run-qwen3-30B-A3B.sh"
        done = subprocess.run([FLIGHTPLAN, "validate", path, "--gpu", "h100-sxm", "--format", "json"], capture_output=True,
                              text=True, timeout=60, stdin=subprocess.DEVNULL)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["wanted_files"], ["models/qwen3-30B-A3B.sh"])
        self.assertEqual(self.errors(answer), [])

    def test_a_model_file_outside_of_the_checkout_is_not_read(self):
        done = subprocess.run([FLIGHTPLAN, "validate", self.root / "scripts/run-qwen3-4B.sh", "--gpu", "h100-sxm", "--stack-root",
                               self.root / "examples", "--format", "json"], capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL)
        self.assertIn("models/qwen3-4B.sh", done.stderr)
        self.assertEqual(json.loads(done.stdout)["wanted_files"], ["models/qwen3-4B.sh"])

    def test_a_layout_that_cannot_be_is_repaired_in_the_text(self):
        path = self.root / "scripts/broken.sh"
        text = (self.root / "scripts/run-qwen3-30B-A3B.sh").read_text()
        path.write_text(text.replace("--expert-model-parallel-size 8", "--expert-model-parallel-size 6"))
        self.assertIn("mlm.experts-divisible-ep", [f["rule_id"] for f in self.judge(path)["findings"]])
        done = self.ask("fix", path)
        self.assertIn("-   --expert-model-parallel-size 6", done.stdout, done.stderr)

    def test_a_misspelt_flag_is_named(self):
        path = self.root / "scripts/misspelt.sh"
        text = (self.root / "scripts/run-qwen3-30B-A3B.sh").read_text()
        path.write_text(text.replace("--recompute-granularity", "--recompute-granularty"))
        [finding] = [f for f in self.judge(path)["findings"] if f["rule_id"] == "slime.unread-flag"]
        self.assertEqual(finding["severity"], "SEVERITY_WARNING")
        self.assertIn("--recompute-granularity", finding["needs"])

    def test_it_is_converted_with_what_slime_sets(self):
        done = self.ask("convert", self.root / "scripts/run-qwen3-30B-A3B.sh", "--from", "slime", "--to", "megatron-lm")
        for words in ("--num-layers 48", "--use-distributed-optimizer", "--bf16", "--expert-model-parallel-size 8"):
            self.assertIn(words, done.stdout, done.stderr)

    def test_a_plan_is_written_for_it_and_read_again(self):
        done = subprocess.run([FLIGHTPLAN, "resolve", "--target", "slime", "--model", "qwen3-30b-a3b", "--gpu", "h100-sxm", "--gpus",
                               "16", "--tp", "2", "--pp", "1", "--ep", "8", "--format", "shell"], capture_output=True, text=True,
                              timeout=120, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("train.py --actor-num-nodes 2 --actor-num-gpus-per-node 8 --colocate", done.stdout)
        self.assertIn("--use-dynamic-batch-size --max-tokens-per-gpu ", done.stdout)
        path = self.root / "plan.sh"
        path.write_text("HF_CHECKPOINT=/m PROMPT_DATA=/d\nNUM_ROLLOUT=8\nROLLOUT_BATCH_SIZE=64\n" + done.stdout)
        answer = self.judge(path)
        self.assertEqual(answer["target"], "slime main")
        self.assertEqual(self.errors(answer), [])


if __name__ == "__main__":
    unittest.main()
