#!/usr/bin/env python3
"""Launches of ms-swift, verl, NeMo-RL, ROLL and Megatron-LM's functional tests: told by themselves, judged, mended in the text, converted, and written by `resolve`.
With their checkouts in FLIGHTPLAN_CHECKOUTS ("ms-swift=DIR verl=DIR") every launch of theirs is judged as stack_scripts.tsv has it.

usage: stacks_test.py FLIGHTPLAN_BINARY
"""
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

import stack_scripts
from stack_launches import NEMO, NEMO_BASE, ROLL, SWIFT, VERL, StackLaunches

FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))


class Stacks(StackLaunches):
    flightplan = FLIGHTPLAN

    def test_each_is_told_by_itself_and_judged_with_its_own_values(self):
        for text, target, knobs in (
                (SWIFT, "ms-swift main", {"num_layers": "48", "recompute_granularity": "full", "bf16": True, "seq_length": "8192",
                                          "attention_backend": "flash"}),
                (VERL.replace(" $@", ""), "verl main", {"num_layers": "48", "tensor_model_parallel_size": "4", "sequence_parallel": True,
                                     "moe_permute_fusion": True, "seq_length": "4096", "global_batch_size": "512"})):
            with self.subTest(target):
                answer = self.judge(text)
                self.assertEqual(answer["target"], target)
                self.assertEqual(self.errors(answer), [])
                for knob, value in knobs.items():
                    self.assertEqual(self.value(answer, knob), value, knob)
                self.assertIn("estimate", answer)

    def nemo(self, text, *args):
        (self.root / "recipes").mkdir(exist_ok=True)
        self.written(NEMO_BASE, "base.yaml")
        done = self.run_flightplan("validate", self.written(text, "recipes/train.yaml"), "--gpu", "h100-sxm", "--stack-root",
                                   self.root, "--format", "json", *args)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)

    def test_settings_are_judged_over_the_chain_of_their_defaults(self):
        answer = self.nemo(NEMO)
        self.assertEqual((answer["target"], answer["input_format"]), ("nemo-rl main", "nemo-rl-yaml"))
        self.assertEqual(self.errors(answer), [])
        for knob, value in {"num_layers": "48", "expert_model_parallel_size": "8", "recompute_granularity": "full",
                            "overlap_param_gather": True, "seq_length": "4096", "lr": 5e-6}.items():
            self.assertEqual(self.value(answer, knob), value, knob)
        self.assertIn("estimate", answer)
        self.assertIn("mesh.world-divisible", self.errors(self.nemo(NEMO.replace("expert_model", "tensor_model")
                                                                    .replace("size: 8", "size: 3"))))

    def test_settings_without_their_chain_are_judged_by_what_they_show(self):
        done = self.run_flightplan("validate", self.written(NEMO), "--target", "nemo-rl", "--input-format", "nemo-rl-yaml",
                                   "--gpu", "h100-sxm", "--format", "json")
        answer = json.loads(done.stdout)
        self.assertEqual(answer["wanted_files"], ["../base.yaml"])
        self.assertEqual(self.errors(answer), [])
        self.assertNotIn("estimate", answer)

    def test_settings_are_converted_to_megatron_lm(self):
        self.written(NEMO_BASE, "whole.yaml")
        done = self.run_flightplan("convert", self.root / "whole.yaml", "--from", "nemo-rl", "--to", "megatron-lm")
        for words in ("--use-distributed-optimizer", "--bf16", "--overlap-param-gather"):
            self.assertIn(words, done.stdout, done.stderr)

    def test_a_sibling_of_a_model_is_said(self):
        self.assertTrue(any("is taken for qwen3-30b-a3b" in what for what in self.judge(SWIFT)["not_judged"]))

    def test_without_a_known_model_only_what_is_written_is_judged(self):
        answer = self.judge(SWIFT.replace("Qwen/Qwen3-30B-A3B-Base", "me/my-own-model"))
        self.assertEqual(self.errors(answer), [])
        self.assertNotIn("estimate", answer)
        answer = self.judge(SWIFT.replace("Qwen/Qwen3-30B-A3B-Base", "me/my-own-model").replace(
            "--expert_model_parallel_size 8", "--tensor_model_parallel_size 3"))
        self.assertIn("mesh.world-divisible", self.errors(answer))

    def test_adapters_are_written_in_each_ones_words(self):
        text = SWIFT.replace("--packing true", "--tuner_type lora --lora_rank 64 --target_modules linear_qkv")
        for target, words in (("verl", ("actor_rollout_ref.model.lora.rank=64", "lora.target_modules=[linear_qkv]")),
                              ("nemo-rl", ("++policy.megatron_cfg.peft.enabled=true", "++policy.megatron_cfg.peft.dim=64")),
                              ("megatron-bridge", ("++peft._target_=megatron.bridge.peft.lora.LoRA", "++peft.dim=64")),
                              ("megatron-lm", ("peft.dim",))):
            done = self.run_flightplan("convert", self.written(text), "--from", "ms-swift", "--to", target)
            for word in words:
                self.assertIn(word, done.stdout + done.stderr, target)

    def test_a_layout_that_cannot_be_is_mended_in_the_text(self):
        broken = self.written(SWIFT.replace("--expert_model_parallel_size 8", "--expert_model_parallel_size 6"), "swift.sh")
        done = self.run_flightplan("fix", broken, "--gpu", "h100-sxm")
        self.assertIn("-    --expert_model_parallel_size 6", done.stdout, done.stderr)
        self.assertRegex(done.stdout, r"\+    --expert_model_parallel_size [48] ")
        broken = self.written(VERL.replace("expert_model_parallel_size=8", "expert_model_parallel_size=6"), "verl.sh")
        done = self.run_flightplan("fix", broken, "--gpu", "h100-sxm")
        self.assertIn("-    actor_rollout_ref.actor.megatron.expert_model_parallel_size=6", done.stdout, done.stderr)
        self.assertRegex(done.stdout, r"\+    actor_rollout_ref.actor.megatron.expert_model_parallel_size=\d")

    def test_a_fix_names_the_key_of_what_nobody_wrote(self):
        keys = "tensor_model_parallel_size: 2, expert_model_parallel_size: 8, use_distributed_optimizer: true"
        path = self.written("pretrain: Qwen/Qwen3-30B-A3B\nsequence_length: 4096\nsft_train:\n"
                            "  training_args: {per_device_train_batch_size: 3}\n  device_mapping: list(range(0,16))\n"
                            f"  strategy_args: {{strategy_name: megatron_train, strategy_config: {{{keys}}}}}\n", "sft.yaml")
        config = "strategy_args.strategy_config."
        page = " ".join(self.run_flightplan("validate", path, "--gpu", "h100-sxm").stdout.replace("\\\n", " ").split())
        self.assertIn(f"{config}recompute_granularity=selective '{config}recompute_modules=[", page)

    def test_a_role_of_roll_is_judged_and_mended_in_its_file(self):
        path = self.written(ROLL, "rlvr.yaml")
        answer = json.loads(self.run_flightplan("validate", path, "--gpu", "h100-sxm", "--format", "json").stdout)
        self.assertEqual(answer["target"], "roll main")
        self.assertEqual(self.errors(answer), [])
        for knob, value in {"num_layers": "48", "global_batch_size": "256", "recompute_method": "uniform",
                            "grad_reduce_in_fp32": True, "moe_router_dtype": "fp32"}.items():
            self.assertEqual(self.value(answer, knob), value, knob)
        path = self.written(ROLL.replace("use_distributed_optimizer: true", "overlap_param_gather: true"), "rlvr.yaml")
        done = self.run_flightplan("fix", path, "--gpu", "h100-sxm")
        self.assertIn("-      overlap_param_gather: true\n+      overlap_param_gather: false", done.stdout, done.stderr)
        path = self.written(ROLL.replace("moe_token_dispatcher_type: alltoall", "variable_seq_lengths: true"), "rlvr.yaml")
        done = self.run_flightplan("fix", path, "--gpu", "h100-sxm")
        self.assertIn("+      moe_token_dispatcher_type: alltoall\n", done.stdout, done.stderr)  # a key that is new there
        for wrong, found in ((("moe_grouped_gemm: true", "moe_permute_fusion: true"), "roll.argument"),
                             (("rollout_batch_size: 64", "rollout_batch_size: 63"), "roll.rollout-batch"),
                             (("response_length: 3072", ""), "roll.length"),
                             (("pretrain:", "- pretrain:"), "roll.settings")):
            path = self.written(ROLL.replace(*wrong), "rlvr.yaml")
            answer = json.loads(self.run_flightplan("validate", path, "--gpu", "h100-sxm", "--format", "json").stdout)
            self.assertEqual(self.errors(answer), [found])

    def test_a_plan_for_roll_is_its_file_and_is_read_again(self):
        asked = ("resolve", "--target", "roll", "--model", "qwen3-30b-a3b", "--gpu", "h100-sxm", "--gpus", "16", "--tp", "2",
                 "--pp", "1", "--ep", "8")
        text = self.run_flightplan(*asked, "--format", "shell").stdout
        launch = self.written(text, "launch.sh")
        (self.root / "examples").mkdir()
        (self.root / "python").write_text("#!/bin/sh\n")
        (self.root / "python").chmod(0o755)
        env = dict(os.environ, PATH=f"{self.root}:{os.environ['PATH']}", MODEL_NAME="Qwen/Qwen3-30B-A3B", DATA_FILE="d",
                   TEMPLATE="qwen2_5")
        subprocess.run(["bash", launch], cwd=self.root, env=env, check=True, timeout=60)
        answer = json.loads(self.run_flightplan("validate", self.root / "examples/flightplan.yaml", "--gpu", "h100-sxm",
                                                "--format", "json").stdout)
        self.assertEqual(answer["target"], "roll main")
        self.assertEqual(self.errors(answer), [])
        for knob, value in {"tensor_model_parallel_size": "2", "expert_model_parallel_size": "8", "num_layers": "48",
                            "seq_length": "4096", "sequence_parallel": True}.items():
            self.assertEqual(self.value(answer, knob), value, knob)
        env.pop("MODEL_NAME")
        self.assertNotEqual(subprocess.run(["bash", launch], cwd=self.root, env=env, capture_output=True, timeout=60).returncode, 0)

    def test_what_is_misspelt_is_named(self):
        [finding] = [f for f in self.judge(SWIFT.replace("--packing", "--paking"))["findings"]
                     if f["rule_id"] == "ms-swift.unrecognized"]
        self.assertIn("--packing?", finding["needs"])
        self.assertEqual(finding["location"]["line"], 11)
        answer = self.judge(VERL.replace("rollout.name", "rollout.nane").replace(" $@", ""))
        self.assertIn("verl.override", self.errors(answer))
        self.assertIn("verl.missing", self.errors(answer))

    def test_they_are_converted_to_megatron_lm(self):
        for text, name, file in ((SWIFT, "ms-swift", "launch.sh"), (VERL.replace(" $@", ""), "verl", "launch.sh"),
                                 (ROLL, "roll", "roll.yaml")):
            done = self.run_flightplan("convert", self.written(text, file), "--from", name, "--to", "megatron-lm")
            for words in ("--num-layers 48", "--use-distributed-optimizer", "--bf16", "--expert-model-parallel-size 8"):
                self.assertIn(words, done.stdout, done.stderr)
            self.assertNotRegex(done.stderr, r"megatron-lm finds \d+ error")

    def test_fix_and_convert_read_a_launch_as_validate_does(self):
        self.assertIn("--num-layers 48", self.run_flightplan("convert", self.written(VERL.replace(" $@", "")), "--to", "megatron-lm").stdout)
        # The job's GPUs are those of its own lines, where no launcher says its processes.
        job = ("#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8\nsrun python pretrain_gpt.py --num-layers 8 "
               "--hidden-size 256 --num-attention-heads 8 --seq-length 512 --max-position-embeddings 512 --micro-batch-size 1 "
               "--global-batch-size 16 --tensor-model-parallel-size 3\n")
        path = self.written(job, "job.sbatch")
        answer = json.loads(self.run_flightplan("validate", path, "--format", "json").stdout)
        self.assertIn("mlm.world-divisible", self.errors(answer))
        repair = json.loads(self.run_flightplan("fix", path, "--format", "json").stdout)
        self.assertIn("mlm.world-divisible", {step["rule_id"] for step in repair["steps"]} | {f["rule_id"] for f in repair["findings"]})
        answer = json.loads(self.run_flightplan("convert", path, "--to", "megatron-bridge", "--format", "json").stdout)
        self.assertIn("mlm.world-divisible", {f["rule_id"] for f in answer["source_findings"]})
        # What launches no training is nothing to repair, and there is nothing to convert.
        path = self.written("echo hello\n", "hello.sh")
        done = self.run_flightplan("fix", path)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("nothing to repair: no command in it runs a Python file", done.stderr)
        done = self.run_flightplan("convert", path, "--to", "megatron-bridge")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("nothing to convert: no command in it runs a Python file", done.stderr)
        # One whose words no reader knows is named.
        path = self.written("torchrun --nproc-per-node 8 -m verl.trainer.sft_trainer engine=megatron\n", "sft.sh")
        done = self.run_flightplan("fix", path)
        self.assertIn("it runs -m verl.trainer.sft_trainer, a program whose words are not read", done.stderr)

    def test_a_plan_is_written_for_them_and_read_again(self):
        values = ("MODEL=Qwen/Qwen3-30B-A3B MODEL_NAME=Qwen/Qwen3-30B-A3B MODEL_PATH=Qwen/Qwen3-30B-A3B DATASET=d ROLLOUT=vllm "
                  "TRAIN_FILES=t VAL_FILES=v NODE_RANK=0 MASTER_ADDR=a")
        for name, tp in itertools.product(("ms-swift", "verl", "nemo-rl"), ("1", "2")):
            with self.subTest(f"{name}, TP{tp}"):
                asked = ("resolve", "--target", name, "--model", "qwen3-30b-a3b", "--gpu", "h100-sxm", "--gpus", "16",
                         "--tp", tp, "--pp", "1", "--ep", "8")
                self.assertIn(f"{8 * int(tp)} microbatches of 1\n", self.run_flightplan(*asked).stdout)
                done = self.run_flightplan(*asked, "--format", "shell")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                answer = self.judge(values.replace(" ", "\n") + "\n" + done.stdout)
                self.assertEqual(answer["target"], name + " main")
                self.assertEqual(self.errors(answer), [], done.stdout)
                self.assertEqual(self.value(answer, "expert_model_parallel_size"), "8")

    def test_a_trainer_is_judged_by_the_megatron_core_that_is_said(self):
        launch = VERL.replace(" $@", "")
        for target, name in (("verl@0.15", "verl 0.15"), ("verl@0.18", "verl main"), ("verl@main", "verl main")):
            self.assertEqual(self.judge(launch, "--target", target)["target"], name)
        # A field that 0.15 does not have.
        offload = launch.replace("override_transformer_config.moe_permute_fusion=True",
                                 "override_transformer_config.fine_grained_activation_offloading=True")
        rules = {target: set(self.errors(self.judge(offload, "--target", target))) for target in ("verl@0.15", "verl@0.16")}
        self.assertNotEqual(rules["verl@0.15"], rules["verl@0.16"])
        self.assertNotIn("target.unknown-version", [f["rule_id"] for f in self.judge(launch, "--target", "verl@0.16")["findings"]])

    def test_the_page_of_the_tables_is_fresh(self):
        self.assertEqual(stack_scripts.PAGE.read_text(), stack_scripts.page(), "stack_scripts.py --page writes it")

    def test_the_table_of_scripts_names_rules_that_are(self):
        known = re.findall(r"(?m)^### (\S+)$", (stack_scripts.TABLE.parents[2] / "resolver/rules/RULES.md").read_text())
        rows = stack_scripts.rows()
        self.assertGreaterEqual(len([row for row in rows if row.stack == "ms-swift"]), 90)
        self.assertGreaterEqual(len([row for row in rows if row.stack == "verl"]), 30)
        self.assertGreaterEqual(len([row for row in rows if row.stack == "nemo-rl"]), 100)
        # Of the functional tests three cannot start: two that no recipe runs, and a weekly one (training/determinism.py:146).
        verdicts = [row.verdict for row in rows if row.stack == "megatron-lm"]
        self.assertEqual((len(verdicts), verdicts.count("refused")), (333, 3))
        self.assertEqual(len({(row.stack, row.path) for row in rows}), len(rows))
        for row in rows:
            self.assertIn(row.verdict, ("passed", "refused"), row)
            if row.verdict == "refused":
                self.assertLessEqual(set(row.reason.split(",")), set(known), row)
        self.assertEqual(set(stack_scripts.commits()), {row.stack for row in rows})

    def test_their_own_scripts_are_judged_as_the_table_has_it(self):
        checkouts = os.environ.get("FLIGHTPLAN_CHECKOUTS", "").split()
        if not checkouts:
            self.skipTest("no checkouts in FLIGHTPLAN_CHECKOUTS")
        for word in checkouts:
            stack, root = word.split("=", 1)
            with self.subTest(stack):
                table = {row for row in stack_scripts.rows() if row.stack == stack}
                self.assertEqual(set(stack_scripts.judged(FLIGHTPLAN, stack, pathlib.Path(root))), table)


if __name__ == "__main__":
    unittest.main()
