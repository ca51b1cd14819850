#!/usr/bin/env python3
"""What `validate` and `fix` say of memory: the four classes, what is missing for a forecast, and knobs beside the text.

usage: memory_test.py FLIGHTPLAN_BINARY
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))
RUNS, FINDINGS, MISUSE = 0, 1, 2

SMALL = """#!/bin/bash
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 8 --hidden-size 2048 --num-attention-heads 16 \\
  --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 --bf16 \\
  --train-iters 100 --lr 1e-4 --tokenizer-type NullTokenizer
"""
LARGE = SMALL.replace("--num-layers 8 --hidden-size 2048", "--num-layers 80 --hidden-size 8192")
ON_8 = ("--gpu", "h100-sxm", "--gpus", "8")


class Memory(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def run_on(self, command, text, *flags, code=RUNS):
        (self.root / "launch.sh").write_text(text)
        done = subprocess.run([FLIGHTPLAN, command, "launch.sh", *flags], cwd=self.root, capture_output=True, text=True,
                              timeout=60, env={**os.environ, "COLUMNS": "200"})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout, done.stderr

    ON_1024 = ("--gpu", "h100-sxm", "--gpus", "1024")

    # A launch that fits, but not with the upper end of the band.
    def tight(self):
        return subprocess.run([FLIGHTPLAN, "resolve", "--model", "deepseek-v3", *self.ON_1024, "--tp", "2", "--pp", "8", "--vpp", "4",
                               "--ep", "64", "--format", "shell"], capture_output=True, text=True, timeout=60).stdout

    def memory(self, text, *flags, code=RUNS):
        return json.loads(self.run_on("validate", text, *flags, "--format", "json", code=code)[0])["memory"]

    def test_without_the_vocabulary_memory_is_unknown(self):
        page, _ = self.run_on("validate", SMALL, *ON_8)
        self.assertIn("will run if it fits: unknown", page.splitlines()[0])
        self.assertRegex(page, r"fits  unknown: at least [0-9.]+ GiB of 80 by parameters and optimizer alone; "
                               r"say --set vocab_size=N")
        memory = self.memory(SMALL, *ON_8)
        self.assertEqual((memory["fit"], memory["missing_input"]), ("FIT_VERDICT_UNKNOWN", "vocab_size"))

    def test_what_is_known_may_be_too_much_by_itself(self):
        page, _ = self.run_on("validate", LARGE, *ON_8, code=FINDINGS)
        self.assertIn("will fail later", page.splitlines()[0])
        self.assertRegex(page, r"optimizer state take at least [0-9.]+ GiB of 79\.6 GiB")
        self.assertEqual(self.memory(LARGE, *ON_8, code=FINDINGS)["fit"], "FIT_VERDICT_DOES_NOT_FIT")

    def test_what_makes_room_is_offered_and_not_done(self):
        out, err = self.run_on("fix", self.tight(), *self.ON_1024)
        self.assertEqual(out, "")
        self.assertIn("launch.sh: nothing to repair\nmemory is tight; to make room (--make-room does it):\n", err)
        self.assertRegex(err, r"with the fix: step \+\d+ %, \d+ -> \d+ GiB")

    def test_room_is_made_on_request_as_it_was_offered(self):
        text = self.tight()
        _, offered = self.run_on("fix", text, *self.ON_1024)
        gib = re.search(r"with the fix: step \+\d+ %, \d+ -> (\d+) GiB", offered)[1]
        out, told = self.run_on("fix", text, *self.ON_1024, "--make-room", "--write")
        self.assertTrue(out.startswith("--- launch.sh\n"))
        self.assertRegex(told, r"\[fit\.memory-marginal\]\nlaunch\.sh after it: accepted by the stack, will run\nfits  yes: " +
                               gib + r" GiB of 80 .*     step  \d+ s \(")
        self.assertEqual(self.memory((self.root / "launch.sh").read_text(), *self.ON_1024)["fit"], "FIT_VERDICT_FITS")

    def test_the_page_says_whose_rates_the_step_rests_on(self):
        for gpu, assumed in (("h100-sxm", True), ("h800-sxm", False)):
            page, _ = self.run_on("validate", SMALL, "--gpu", gpu, "--gpus", "8", "--set", "vocab_size=32000")
            self.assertEqual("assumed  GPU rates of a recorded H100 80GB HBM3, driver " in page, assumed, page)
            self.assertNotIn("evidence.recorded-profile", page)

    def test_a_knob_beside_the_text_is_judged_and_marked(self):
        page, _ = self.run_on("validate", SMALL, *ON_8, "--set", "vocab_size=32000")
        first = page.splitlines()[0]
        self.assertIn("launch.sh with vocab_size=32000 (not in the text)", first)
        self.assertTrue(first.split("accepted by the stack")[1].lstrip().startswith("will run   "), first)
        self.assertIn("fits  yes: ", page)

    def test_knobs_beside_the_text_are_repeatable_and_the_last_word_counts(self):
        self.assertEqual(self.memory(SMALL, *ON_8, "--set", "vocab_size=32000", "--set", "micro_batch_size=8", "--set",
                                     "micro_batch_size=1")["fit"], "FIT_VERDICT_FITS")

    def test_an_unknown_knob_and_a_wrong_value_are_misuse(self):
        _, told = self.run_on("validate", SMALL, "--set", "vocab_sise=3", code=MISUSE)
        self.assertIn("did you mean vocab_size?", told)
        for setting in ("vocab_size=many", "moe_token_dispatcher_type=pigeon", "vocab_size=99999999999999"):
            for command in ("validate", "fix"):
                _, told = self.run_on(command, SMALL, *ON_8, "--set", setting, code=MISUSE)
                self.assertIn("--set", told)

    def test_a_repair_takes_knobs_beside_the_text_and_does_not_write_them(self):
        text = SMALL.replace("--bf16", "--bf16 --expert-model-parallel-size 2")
        page, told = self.run_on("fix", text, *ON_8, "--set", "vocab_size=32000")
        self.assertIn("launch.sh with vocab_size=32000 (not in the text) after it: accepted by the stack, will run", told)
        self.assertNotIn("vocab", page)

    def test_a_repair_of_what_is_judged_in_part_promises_no_more_than_that(self):
        text = SMALL.replace("--bf16", "$(cat more.txt) --num-experts 8 --tensor-model-parallel-size 3 --bf16")
        _, told = self.run_on("fix", text, *ON_8)
        self.assertIn("launch.sh after it: not judged in full: nothing that it shows is refused\n", told)
        self.assertNotIn("will run", told)

    def test_without_a_gpu_or_with_an_unknown_one_the_rules_are_judged(self):
        for flags, told, fit in (((), "no GPU is given", "say --gpu NAME"),
                                 (("--gpu", "h1000", "--gpus", "8"), "no GPU named 'h1000'", "nearest known: h100")):
            page, _ = self.run_on("validate", SMALL, *flags)
            self.assertIn("accepted by the stack   will run if it fits: unknown", page)
            self.assertIn(f"hardware gates: {told}", page)
            self.assertIn(fit, page)
        self.run_on("validate", SMALL.replace("--bf16", "--bf16 --tensor-model-parallel-size 3"), "--gpu", "h1000", "--gpus",
                    "8", code=FINDINGS)


if __name__ == "__main__":
    unittest.main()
