#!/usr/bin/env python3
"""`flightplan convert`: between releases, between stacks, and what it says of what is lost.

usage: convert_test.py FLIGHTPLAN_BINARY
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))

ARGS = ("--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 "
        "--micro-batch-size 1 --global-batch-size 128 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --bf16 "
        "--train-iters 10 --lr 1e-4 --mock-data --tokenizer-type NullTokenizer --vocab-size 32000").split()
MOE = ARGS + ("--num-experts 8 --moe-router-topk 2 --expert-model-parallel-size 4 --disable-bias-linear "
              "--moe-token-dispatcher-type flex --sequence-parallel").split()


class Convert(unittest.TestCase):
    def run_convert(self, *args, code=0):
        done = subprocess.run([FLIGHTPLAN, "convert", *args], capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL)
        if code is not None:
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def answer(self, source, target, words, *more, code=0):
        done = self.run_convert("--from", source, "--to", target, "--gpus", "16", "--format", "json",
                                "--env", "CUDA_DEVICE_MAX_CONNECTIONS=1", *more, "--", *words, code=code)
        return json.loads(done.stdout)

    def pairs(self, argv):
        """Flags with their values, in any order."""
        out, flag = {}, None
        for word in argv:
            if word.startswith("--"):
                flag = word
                out[flag] = ""
            else:
                out[flag] = (out[flag] + " " + word).strip()
        return out

    def test_a_signal_by_its_number_is_named(self):
        for number, name in (("15", "SIGTERM"), ("12", "SIGUSR2")):
            answer = self.answer("megatron-bridge", "megatron-lm", [f"train.exit_signal={number}"])
            self.assertEqual(self.pairs(answer["launch"]["argv"])["--exit-signal"], name)
            self.assertFalse([f for f in answer["target_findings"] if "exit-signal" in f["seen"]])

    def test_the_weight_decay_is_the_one_that_is_trained_with(self):
        """A container's scheduler writes its own over the optimizer's; a command line's takes the optimizer's."""
        answer = self.answer("megatron-lm", "megatron-bridge", [*ARGS, "--weight-decay", "0.1"])
        self.assertLessEqual({"scheduler.start_weight_decay=0.1", "scheduler.end_weight_decay=0.1"}, set(answer["launch"]["argv"]))
        ends = ["scheduler.start_weight_decay=0.05", "scheduler.end_weight_decay=0.05"]
        answer = self.answer("megatron-bridge", "megatron-lm", ["optimizer.weight_decay=0.1", *ends])
        pairs = self.pairs(answer["launch"]["argv"])
        self.assertEqual(pairs["--weight-decay"], "0.05")
        self.assertFalse({"--start-weight-decay", "--end-weight-decay"} & set(pairs))
        growing = ["scheduler.start_weight_decay=0.05", "scheduler.end_weight_decay=0.1", "scheduler.weight_decay_incr_style=linear"]
        pairs = self.pairs(self.answer("megatron-bridge", "megatron-lm", growing)["launch"]["argv"])
        self.assertEqual([pairs[f] for f in ("--start-weight-decay", "--end-weight-decay", "--weight-decay-incr-style")],
                         ["0.05", "0.1", "linear"])

    def script(self, text, target):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "pretrain.sh")
            path.write_text(text)
            done = subprocess.run([FLIGHTPLAN, "convert", "--to", target, "--format", "json", str(path)],
                                  capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)

    def test_the_nodes_are_those_of_the_launch(self):
        words = " ".join(ARGS)
        slurm = f"#SBATCH --nodes=8\n#SBATCH --gpus-per-node=4\n#SBATCH --ntasks-per-node=4\nsrun python pretrain_gpt.py {words}\n"
        answer = self.script("#!/bin/bash\n" + slurm, "megatron-lm")
        self.assertIn("torchrun --nnodes 8 --nproc-per-node 4 ", answer["launch"]["text"])
        self.assertNotIn("SLURM_NNODES", answer["launch"]["text"])  # Slurm sets it for the new job
        answer = self.script(f"torchrun --nnodes 8 --nproc-per-node 4 pretrain_gpt.py {words}\n", "megatron-lm")
        self.assertIn("torchrun --nnodes 8 --nproc-per-node 4 ", answer["launch"]["text"])
        self.assertNotIn("nodes", self.names(answer["launch"]["required_inputs"]))
        # So many GPUs in all: their nodes are assumed, and asked for.
        answer = self.script(f"srun -n 32 python pretrain_gpt.py {words}\n", "megatron-lm")
        self.assertIn("torchrun --nnodes 4 --nproc-per-node 8 ", answer["launch"]["text"])
        self.assertIn("nodes", self.names(answer["launch"]["required_inputs"]))
        answer = self.script(f"torchrun --nnodes 4 --nproc-per-node 8 pretrain_gpt.py {words}\n", "verl")
        self.assertIn("trainer.nnodes=4", answer["launch"]["text"])

    def test_sequence_and_batch_go_to_stacks_with_words_of_their_own(self):
        for target, words in (("roll", ("sequence_length: 4096", "gradient_accumulation_steps: 32")),
                              ("verl", ("data.max_response_length=3584", "data.train_batch_size=16")),
                              ("nemo-rl", ("++policy.max_total_sequence_length=4096",))):
            answer = self.answer("megatron-lm", target, ARGS, code=None)
            for word in words:
                self.assertIn(word, answer["launch"]["text"], target)
            self.assertFalse(self.names(answer["dropped"]) & {"seq_length", "global_batch_size"}, target)

    def names(self, knobs):
        return {knob["name"] for knob in knobs}

    def test_a_model_that_only_the_recipe_knows_is_asked_for(self):
        script = "torchrun --nproc-per-node 8 scripts/training/run_recipe.py --recipe {} train.train_iters=100 model.tensor_model_parallel_size=2\n"
        answer = self.script(script.format("my_own_7b_pretrain_config"), "megatron-lm")
        self.assertLessEqual({"num_layers", "hidden_size", "num_attention_heads", "seq_length", "micro_batch_size"},
                             self.names(answer["launch"]["required_inputs"]))
        self.assertEqual([f["rule_id"] for f in answer["target_findings"] if f["severity"] == "error"], [])
        self.assertEqual(self.pairs(answer["launch"]["argv"]),
                         {"--tensor-model-parallel-size": "2", "--train-iters": "100"})
        self.assertEqual(answer["pinned_defaults"], [])
        answer = self.script(script.format("my_own_7b_pretrain_config"), "megatron-bridge@0.4")
        self.assertEqual([f["rule_id"] for f in answer["target_findings"] if f["severity"] == "error"], [])
        # Of overrides alone the classes are known, whose sizes are no model's.
        answer = self.answer("megatron-bridge", "megatron-lm", ["model.seq_length=4096"])
        self.assertNotIn("--num-layers", answer["launch"]["argv"])
        self.assertIn("--cross-entropy-loss-fusion", answer["launch"]["argv"])
        # The catalogue has this one.
        answer = self.script(script.format("llama3_8b_pretrain_config"), "megatron-lm")
        self.assertEqual(self.pairs(answer["launch"]["argv"])["--hidden-size"], "4096")

    def test_the_same_release_gives_the_same_launch(self):
        answer = self.answer("megatron-lm", "megatron-lm", ARGS)
        self.assertEqual(self.pairs(answer["launch"]["argv"]), {**self.pairs(ARGS), "--lr": "0.0001"})
        self.assertEqual((answer["converted"], answer["dropped"], answer["pinned_defaults"]), ([], [], []))

    def test_renamed_knobs_forward_and_back(self):
        rows = [("0.18", "main", "--moe-deepep-num-sms", "--moe-flex-dispatcher-num-sms", "24",
                 "--moe-flex-dispatcher-backend deepep"),
                ("0.18", "main", "--moe-hybridep-num-sms", "--moe-flex-dispatcher-num-sms", "16",
                 "--moe-flex-dispatcher-backend hybridep"),
                ("0.17", "main", "--cuda-graph-scope", "--cuda-graph-modules", "attn",
                 "--cuda-graph-impl transformer_engine --te-rng-tracker")]
        for old_release, new_release, old, new, value, beside in rows:
            with self.subTest(old):
                words = MOE + beside.split()
                forward = self.answer(f"megatron-lm@{old_release}", f"megatron-lm@{new_release}", words + [old, value])
                self.assertEqual(self.pairs(forward["launch"]["argv"])[new], value)
                self.assertNotIn(old, forward["launch"]["argv"])
                row = next(k for k in forward["converted"] if k["target_spelling"] == new)
                self.assertEqual(row["source_spelling"], old)
                self.assertIn("Megatron-Core", row["reason"])
                back = self.answer(f"megatron-lm@{new_release}", f"megatron-lm@{old_release}", words + [new, value])
                self.assertEqual(self.pairs(back["launch"]["argv"])[old], value)

    def test_words_of_the_command_line_alone_are_said_in_the_config_classes(self):
        words = ARGS + ["--swiglu", "--untie-embeddings-and-output-weights", "--group-query-attention",
                        "--num-query-groups", "4", "--disable-bias-linear"]
        answer = self.answer("megatron-lm@main", "megatron-bridge@main", words)
        text = " ".join(answer["launch"]["argv"])
        for override in ("model.gated_linear_unit=true", "model.activation_func=silu",
                         "model.share_embeddings_and_output_weights=false", "model.num_query_groups=4"):
            self.assertIn(override, text)
        dropped = {row["name"] for row in answer["dropped"]}
        self.assertFalse(dropped & {"swiglu", "untie_embeddings_and_output_weights", "group_query_attention"}, dropped)
        # Read back on the command line it is the same model.
        model = [word for word in answer["launch"]["argv"] if word.startswith(("model.", "train.micro", "train.global"))]
        back = self.answer("megatron-bridge@main", "megatron-lm@main", model)
        self.assertLessEqual({"--swiglu", "--untie-embeddings-and-output-weights"}, set(back["launch"]["argv"]))

    def test_a_knob_that_the_older_release_lacks_is_dropped_and_named(self):
        answer = self.answer("megatron-lm@main", "megatron-lm@0.16", ARGS + ["--use-gated-norm-in-an-older-release"], code=1)
        self.assertTrue(any("--use-gated-norm" in f["seen"] for f in answer["source_findings"]))
        answer = self.answer("megatron-lm@main", "megatron-lm@0.16", ARGS + ["--inference-cuda-graph-scope", "layer"])
        row = next(k for k in answer["dropped"] if k["name"] == "inference_cuda_graph_scope")
        self.assertEqual(row["reason"], "megatron-lm 0.16 has no such knob")
        self.assertNotIn("--inference-cuda-graph-scope", answer["launch"]["argv"])

    def test_a_value_that_the_older_release_lacks_is_an_error_of_the_target(self):
        answer = self.answer("megatron-lm@main", "megatron-lm@0.16", ARGS + ["--optimizer", "soap"], code=1)
        self.assertIn("--optimizer soap", [finding["seen"] for finding in answer["target_findings"]])

    def test_graphs_of_a_whole_iteration_are_local_ones_before_their_name(self):
        whole = ["--cuda-graph-impl", "full_iteration", "--no-check-for-nan-in-loss-and-grad"]
        argv = self.answer("megatron-lm@main", "megatron-lm@0.16", ARGS + whole)["launch"]["argv"]
        self.assertEqual(argv[argv.index("--cuda-graph-impl") + 1], "local")
        self.assertEqual(argv[argv.index("--cuda-graph-scope") + 1], "full_iteration")

    def test_between_stacks_and_back(self):
        there = self.answer("megatron-lm", "megatron-bridge", ARGS)
        argv = there["launch"]["argv"]
        self.assertIn("model.tensor_model_parallel_size=2", argv)
        self.assertIn("train.global_batch_size=128", argv)
        self.assertFalse([word for word in argv if word.startswith("--")])
        row = next(k for k in there["converted"] if k["name"] == "tensor_model_parallel_size")
        self.assertEqual((row["source_spelling"], row["target_spelling"]),
                         ("--tensor-model-parallel-size", "model.tensor_model_parallel_size"))
        back = self.answer("megatron-bridge", "megatron-lm", argv)
        for flag in ("--tensor-model-parallel-size", "--pipeline-model-parallel-size", "--num-layers", "--hidden-size",
                     "--seq-length", "--global-batch-size", "--micro-batch-size"):
            self.assertEqual(self.pairs(back["launch"]["argv"]).get(flag), self.pairs(ARGS)[flag], flag)

    def test_defaults_that_differ_are_written(self):
        answer = self.answer("megatron-lm", "megatron-bridge", ARGS)
        self.assertTrue(answer["pinned_defaults"])
        for knob in answer["pinned_defaults"]:
            self.assertIn("unset means", knob["reason"])
            self.assertTrue(any(word.startswith(knob["target_spelling"] + "=") for word in answer["launch"]["argv"]), knob)

    def test_flags_without_a_knob_are_kept_by_their_own_stack_and_named_for_another(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "train.sh"
            path.write_text("export CUDA_DEVICE_MAX_CONNECTIONS=1\ntorchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py "
                            + " ".join(ARGS) + " --my-own-flag 3 --save $CHECKPOINTS/$(date) --lr-decay-iters $N\n")
            same = self.run_convert(str(path), "--to", "megatron-lm@main", code=1)  # --my-own-flag is no flag of its own
            self.assertIn('--save "$CHECKPOINTS/$(date)"', same.stdout)
            self.assertIn('--lr-decay-iters "$N"', same.stdout)
            self.assertIn("--my-own-flag 3", same.stdout)
            self.assertIn("export CUDA_DEVICE_MAX_CONNECTIONS=1", same.stdout)
            other = self.run_convert(str(path), "--to", "megatron-bridge", "--format", "json")
            reasons = {k["source_spelling"]: k["reason"] for k in json.loads(other.stdout)["dropped"]}
            self.assertIn("cannot be read", reasons["--lr-decay-iters"])
            self.assertIn('"checkpoint.save=$CHECKPOINTS/$(date)"', json.loads(other.stdout)["launch"]["text"])
            self.assertIn("of megatron-lm main's own", reasons["--my-own-flag"])

    def test_loongforge(self):
        answer = self.answer("megatron-lm", "loongforge", ARGS)
        self.assertEqual(self.pairs(answer["launch"]["argv"])["--tensor-model-parallel-size"], "2")
        # What LoongForge wants and this launch does not say, its text asks for.
        self.assertFalse([f for f in answer["target_findings"] if f["severity"] == "SEVERITY_ERROR"])
        self.assertIn("model", self.names(answer["launch"]["required_inputs"]))
        self.assertIn('--model-name "${MODEL_NAME:?', answer["launch"]["text"])

    def test_the_verdict_is_that_of_the_text_it_prints(self):
        with tempfile.TemporaryDirectory() as folder:
            source, there = pathlib.Path(folder, "source.sh"), pathlib.Path(folder, "there.sh")
            source.write_text(self.resolved("qwen3-30b-a3b", "megatron-lm", "--gpus", "16", "--ep", "8"))
            for target in ("megatron-lm@main", "megatron-lm@0.17", "slime", "loongforge", "ms-swift", "verl"):
                with self.subTest(target):
                    answer = json.loads(self.run_convert(str(source), "--to", target, "--gpu", "h100-sxm", "--gpus", "16",
                                                         "--format", "json").stdout)
                    there.write_text(answer["launch"]["text"])
                    said = [f for f in self.judged(there, target, "16")["findings"]
                            if f["rule_id"] != "evidence.recorded-profile"]  # of the step, which a conversion does not forecast
                    for key in ("rule_id", "severity", "seen", "needs"):
                        self.assertEqual([f[key] for f in answer["target_findings"]], [f[key] for f in said], key)
            done = self.run_convert(str(source), "--to", "slime", "--gpu", "h100-sxm", "--gpus", "16")
            self.assertIn("still needs", done.stderr)
            self.assertIn("--num-rollout", done.stderr)

    def test_sizes_that_the_source_derives_are_written_where_the_target_derives_others(self):
        words = MOE + ["--num-virtual-stages-per-pipeline-rank", "2"]  # experts split by the tensor-parallel size
        answer = self.answer("megatron-lm", "megatron-bridge", words, "--gpu", "h100-sxm")
        self.assertIn("model.expert_tensor_parallel_size=2", answer["launch"]["argv"])
        row = next(k for k in answer["pinned_defaults"] if k["name"] == "expert_tensor_parallel_size")
        self.assertEqual(row["reason"], "unset means 2 in megatron-lm main and 1 in megatron-bridge main")

    def test_precision_and_recipe_come_through_a_container_and_back(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder, name) for name in ("source.sh", "there.sh", "back.sh")]
            steps = (("megatron-lm", "megatron-bridge", "megatron-lm"), ("megatron-bridge", "megatron-bridge", "megatron-bridge"))
            for stacks in steps:
                with self.subTest(stacks[0]):
                    files[0].write_text(self.resolved("qwen3-30b-a3b", stacks[0], "--gpus", "16", "--precision", "fp8_cs"))
                    for i in (0, 1):
                        done = self.run_convert(str(files[i]), "--from", stacks[i], "--to", stacks[i + 1], "--gpu", "h100-sxm",
                                                "--gpus", "16")
                        files[i + 1].write_text(done.stdout)
                    before, after = (self.judged(path, stacks[0], "16") for path in (files[0], files[2]))
                    for key in ("step_flops", "step_time_us", "stages"):
                        self.assertEqual(before["estimate"][key], after["estimate"][key], key)
            self.assertIn("--recipe qwen3_30b_a3b_pretrain_config ", files[2].read_text())

    def test_what_counts_only_beside_a_switch_that_is_off_is_not_written(self):
        answer = self.answer("megatron-lm", "megatron-bridge", MOE, "--gpu", "h100-sxm")
        pinned = self.names(answer["pinned_defaults"])
        self.assertFalse(pinned & {"muon_momentum", "rope_scaling_factor", "data_parallel_sharding_strategy", "exit_signal",
                                   "optimizer_offload_fraction", "fp8_recipe", "wgrad_deferral_limit"}, pinned)
        answer = self.answer("megatron-lm", "megatron-bridge", MOE + ["--use-rope-scaling", "--position-embedding-type", "rope"],
                             "--gpu", "h100-sxm")
        self.assertIn("rope_scaling_factor", self.names(answer["pinned_defaults"]))

    def test_an_empty_list_of_what_is_off_is_not_written(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "source.sh")
            source.write_text(self.resolved("qwen3-30b-a3b", "verl", "--gpus", "16", "--ep", "8")
                              .replace("${MODEL_PATH:?the model, by its name on the hub or its folder}", "Qwen/Qwen3-30B-A3B"))
            self.assertIn("cuda_graph_modules=[]", source.read_text())
            done = self.run_convert(str(source), "--from", "verl", "--to", "loongforge", "--gpu", "h100-sxm", "--gpus", "16")
            self.assertNotIn("--cuda-graph-scope", done.stdout)

    def resolved(self, model, target, *more):
        """A launch of the model, as `resolve` writes it."""
        done = subprocess.run([FLIGHTPLAN, "resolve", "--model", model, "--gpu", "h100-sxm", "--target", target,
                               "--format", "shell", *more], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def judged(self, path, target, gpus):
        done = subprocess.run([FLIGHTPLAN, "validate", str(path), "--target", target, "--gpu", "h100-sxm", "--gpus", gpus,
                               "--format", "json"], capture_output=True, text=True, timeout=60)
        return json.loads(done.stdout)

    def test_layers_that_loongforge_builds_by_itself_are_written_out(self):
        with tempfile.TemporaryDirectory() as folder:
            source, there = pathlib.Path(folder, "source.sh"), pathlib.Path(folder, "there.sh")
            source.write_text(self.resolved("qwen3-next-80b-a3b", "loongforge", "--gpus", "32"))
            here = self.judged(source, "loongforge", "32")
            for target, variant in (("megatron-lm", "gdn"), ("megatron-lm@0.18", "gated_delta_net"), ("slime", "gated_delta_net")):
                with self.subTest(target):
                    done = subprocess.run([FLIGHTPLAN, "convert", str(source), "--from", "loongforge", "--to", target, "--gpu",
                                           "h100-sxm", "--gpus", "32"], capture_output=True, text=True, timeout=60)
                    there.write_text(done.stdout)
                    self.assertIn(f"--experimental-attention-variant {variant} ", done.stdout)
                    for flag in ("--attention-output-gate", "--moe-shared-expert-gate", "--apply-layernorm-1p"):
                        self.assertIn(flag, done.stdout)
                    self.assertNotIn("HFTokenizer", done.stdout)
                    answer = self.judged(there, target, "32")
                    self.assertTrue(answer["accepted_by_stack"], answer["findings"])
                    self.assertEqual(answer["estimate"]["step_flops"], here["estimate"]["step_flops"])
            same = self.run_convert(str(source), "--from", "loongforge", "--to", "loongforge", "--gpus", "32", "--format", "json")
            self.assertNotIn("model_family", {row["name"] for row in json.loads(same.stdout)["dropped"]})
            self.assertNotIn("--experimental-attention-variant", json.loads(same.stdout)["launch"]["argv"])

    def test_a_choice_has_the_name_of_the_release_and_the_stack(self):
        gdn = ["--linear-attention-freq", "4", "--linear-key-head-dim", "128", "--linear-value-head-dim", "128",
               "--linear-num-key-heads", "16", "--linear-num-value-heads", "32", "--linear-conv-kernel-dim", "4",
               "--experimental-attention-variant"]
        for source, word, target, named in (("megatron-lm@main", "gdn", "megatron-lm@0.18", "gated_delta_net"),
                                            ("megatron-lm@0.18", "gated_delta_net", "megatron-lm@main", "gdn"),
                                            ("megatron-lm@main", "gdn", "slime", "gated_delta_net")):
            answer = self.answer(source, target, ARGS + gdn + [word])
            self.assertEqual(self.pairs(answer["launch"]["argv"])["--experimental-attention-variant"], named)
            row = next(k for k in answer["converted"] if k["name"] == "experimental_attention_variant")
            self.assertEqual((row["value"], "gdn since" in row["reason"]), ({"string_value": word}, True))

    def test_what_it_says_is_written_stands_in_the_launch(self):
        words = MOE + ["--num-virtual-stages-per-pipeline-rank", "2"]
        for target in ("slime", "loongforge", "megatron-lm@0.16", "megatron-bridge"):
            with self.subTest(target):
                answer = self.answer("megatron-lm", target, words, "--gpu", "h100-sxm")
                written = {word.split("=")[0].lstrip("+") for word in answer["launch"]["argv"]}
                for row in answer["pinned_defaults"]:
                    self.assertIn(row["target_spelling"], written, row)
                names = {row["name"] for row in answer["converted"] if not row["target_spelling"]}
                self.assertNotIn("num_virtual_stages_per_pipeline_rank", names)
                # Of None, False and an empty text the launch runs the same.
                unused = {"wandb_project", "wandb_entity", "async_save", "load_main_params_from_ckpt"}
                self.assertFalse(unused & self.names(answer["pinned_defaults"] + answer["dropped"]))

    def test_shell_output_can_be_read_again(self):
        shell = self.run_convert("--to", "megatron-lm@0.17", "--gpus", "16", "--env", "CUDA_DEVICE_MAX_CONNECTIONS=1", "--", *ARGS)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "converted.sh"
            path.write_text(shell.stdout)
            done = subprocess.run([FLIGHTPLAN, "validate", str(path), "--target", "megatron-lm@0.17", "--gpus", "16"],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("finds", shell.stderr)

    def test_the_result_runs_on_as_many_gpus_as_the_script_starts(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "run.sh")
            words = " ".join(MOE)
            script.write_text(f"export CUDA_DEVICE_MAX_CONNECTIONS=1\n"
                              f"torchrun --nproc_per_node 2 --nnodes 1 pretrain_gpt.py {words}\n")
            done = self.run_convert(str(script), "--from", "megatron-lm@0.18", "--to", "megatron-lm@main", "--gpu",
                                    "h100-sxm", "--format", "json", code=1)
        answer = json.loads(done.stdout)
        for side in ("source_findings", "target_findings"):
            self.assertTrue(any("world_size" in str(finding["observed"]) for finding in answer[side]), side)

    def test_misuse(self):
        for args in (["--", *ARGS], ["--to", "megatron-lm"], ["--to", "nemo", "--", *ARGS], ["--to", "megatron-lm", "/missing"],
                     ["--to", "megatron-lm", "--set", "num_layers=2", "--", *ARGS]):
            self.assertIn("flightplan convert:", self.run_convert(*args, code=2).stderr)
        for args in (["--to", "nemo"], ["--from", "nemo", "--to", "slime"]):  # by the flag that was written
            self.assertIn(f"{args[0]}: 'nemo' is not known", self.run_convert(*args, "--", *ARGS, code=2).stderr)

    def test_a_server_gives_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            server = subprocess.Popen([FLIGHTPLAN, "serve", f"--listen=unix:{folder}/s.sock", "--http_listen=",
                                       "--drain_delay=0s"], stderr=subprocess.DEVNULL)
            try:
                for _ in range(200):
                    if os.path.exists(f"{folder}/s.sock"):
                        break
                    time.sleep(0.05)
                self.assertEqual(self.answer("megatron-lm", "megatron-bridge", ARGS),
                                 self.answer("megatron-lm", "megatron-bridge", ARGS, "--server", f"unix:{folder}/s.sock"))
            finally:
                server.terminate()
                server.wait(30)


if __name__ == "__main__":
    unittest.main()
