#!/usr/bin/env python3
"""`--stack-root`: a LoongForge checkout whose model files are read, and nothing outside it.

usage: stack_root_test.py FLIGHTPLAN_BINARY
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))

MINE = """defaults:
  - ../qwen3: base
  - _self_
num_layers: 6
"""
BASE = """_target_: loongforge.models.foundation.Qwen3Config
model_type: qwen
num_layers: 4
hidden_size: 1024
ffn_hidden_size: 4096
num_attention_heads: 16
kv_channels: 64
"""
WORDS = ("--config-file {} --micro-batch-size 1 --seq-length 4096 --max-position-embeddings 4096 --train-iters 10 --lr 1e-4 "
         "--bf16")


class StackRoot(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write("checkout/configs/models/custom/mine.yaml", MINE)
        self.write("checkout/configs/models/qwen3/base.yaml", BASE)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def judge(self, path, *args, code=0, words=WORDS):
        done = subprocess.run([FLIGHTPLAN, "validate", "--target", "loongforge", "--env", "LOONGFORGE_PATH=/opt/LoongForge",
                               *args, "--format", "json", "--", *words.format(path).split()],
                              capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return (json.loads(done.stdout) if done.stdout else {}), done.stderr

    def layers(self, answer):
        return [entry["value"].get("int_value") for entry in answer["config"] if entry["name"] == "num_layers"]

    def test_the_model_file_and_those_under_it_are_read(self):
        for path in ("/opt/LoongForge/configs/models/custom/mine.yaml", "configs/models/custom/mine.yaml",
                     str(self.folder / "checkout/configs/models/custom/mine.yaml")):
            with self.subTest(path):
                answer, said = self.judge(path, "--stack-root", str(self.folder / "checkout"))
                self.assertEqual(self.layers(answer), ["6"])
                self.assertEqual(answer["wanted_files"], [])
                self.assertEqual(said, "")

    def test_without_it_the_answer_says_what_it_wants(self):
        answer, _ = self.judge("/opt/LoongForge/configs/models/custom/mine.yaml")
        self.assertEqual(answer["wanted_files"], ["/opt/LoongForge/configs/models/custom/mine.yaml"])
        self.assertTrue(any("--stack-root" in what for what in answer["not_judged"]))
        self.assertEqual([f["rule_id"] for f in answer["findings"] if f["severity"] == "SEVERITY_ERROR"], [])

    def test_overrides_change_the_file(self):
        answer, _ = self.judge("configs/models/custom/mine.yaml", "--stack-root", str(self.folder / "checkout"),
                               words=WORDS + " num_layers=8")
        self.assertEqual(self.layers(answer), ["8"])
        answer, _ = self.judge("configs/models/custom/mine.yaml", "--stack-root", str(self.folder / "checkout"), code=1,
                               words=WORDS + " num_layerz=8")
        self.assertIn("lf.hydra-override", [finding["rule_id"] for finding in answer["findings"]])

    def test_faults_of_a_file_name_it(self):
        self.write("checkout/configs/models/custom/mine.yaml", "num_layers: [1\n")
        answer, _ = self.judge("configs/models/custom/mine.yaml", "--stack-root", str(self.folder / "checkout"), code=1)
        fault = next(finding for finding in answer["findings"] if finding["rule_id"] == "lf.config-file-exists")
        self.assertIn("mine.yaml:", fault["needs"])

    def test_a_missing_file_is_named(self):
        self.write("checkout/configs/models/custom/mine.yaml", "defaults: [gone]\nmodel_type: qwen\n")
        answer, said = self.judge("configs/models/custom/mine.yaml", "--stack-root", str(self.folder / "checkout"), code=1)
        self.assertIn("configs/models/custom/gone.yaml", said)
        self.assertIn("lf.config-file-exists", [finding["rule_id"] for finding in answer["findings"]])

    def test_nothing_outside_is_read(self):
        secret = self.write("secret.yaml", "num_layers: 77\nmodel_type: qwen\n")
        os.symlink(secret, self.folder / "checkout/configs/models/custom/link.yaml")
        for path in (str(secret), "../secret.yaml", "configs/models/../../../secret.yaml", "configs/models/custom/link.yaml"):
            with self.subTest(path):
                answer, said = self.judge(path, "--stack-root", str(self.folder / "checkout"))
                self.assertNotIn("77", self.layers(answer))
                self.assertIn("not found below", said)

    def judge_script(self, words, *args, code):
        script = self.write("launch.sh", "export LOONGFORGE_PATH=/opt/LoongForge\ntorchrun --nproc-per-node 8 "
                            "$LOONGFORGE_PATH/loongforge/train.py " + words + "\n")
        done = subprocess.run([FLIGHTPLAN, "validate", str(script), *args, "--format", "json"],
                              capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return {finding["rule_id"]: finding["severity"] for finding in json.loads(done.stdout)["findings"]}

    def test_what_no_model_file_says_is_as_a_script_has_it(self):
        script = ("--model-name llama2-13b --tokenizer-type HFTokenizer --hf-tokenizer-path /m --data-path /x --split 949,50,1 "
                  "--seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 1024 --lr 0.0002 "
                  "--train-iters 500 --bf16 ")
        self.assertNotIn("SEVERITY_ERROR", self.judge_script(script, code=0).values())
        for words, rule in (("--mock-data", "mlm.one-data-source"), ("--seq-length oops", "mlm.argparse"),
                            ("--moe-layer-freq oops", "mlm.argparse")):
            with self.subTest(words):
                self.assertEqual(self.judge_script(script + words, code=1).get(rule), "SEVERITY_ERROR")
        # Another checkout's file may have the key, and what may hold any flags may take one away.
        self.assertEqual(self.judge_script(script + "num_layerz=4", code=0).get("lf.hydra-override"), "SEVERITY_WARNING")
        self.assertNotIn("SEVERITY_ERROR", self.judge_script(script + "--mock-data $(cat words)", code=0).values())

    def test_the_callers_own_file_is_known_in_a_script(self):
        script = WORDS.format("configs/models/custom/mine.yaml") + " --tokenizer-type NullTokenizer --mock-data "
        root = ("--stack-root", str(self.folder / "checkout"))
        self.assertNotIn("SEVERITY_ERROR", self.judge_script(script, *root, code=0).values())
        for words, rule in (("num_layerz=8", "lf.hydra-override"), ("--expert-model-parallel-size 3", "mlm.ep-needs-experts")):
            with self.subTest(words):
                self.assertEqual(self.judge_script(script + words, *root, code=1).get(rule), "SEVERITY_ERROR")

    def test_a_root_that_is_none(self):
        _, said = self.judge("x.yaml", "--stack-root", str(self.folder / "nowhere"), code=2)
        self.assertIn("is no folder", said)


if __name__ == "__main__":
    unittest.main()
