#!/usr/bin/env python3
"""The batch door: verdicts, orders, formats, exit codes, bad input; in process and by a server.

usage: batch_test.py FLIGHTPLAN_BINARY
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

try:
    import jsonschema
except ImportError:
    jsonschema = None

FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))
HERE = pathlib.Path(__file__).parent

FLAGS = ("--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 "
         "--micro-batch-size 1 --global-batch-size 128 --pipeline-model-parallel-size 2 --bf16 --train-iters 10 --lr 1e-4 "
         "--mock-data --tokenizer-type NullTokenizer --vocab-size 32000")


def script(tp, launcher="torchrun --nnodes 2 --nproc-per-node 8", head="#!/bin/bash\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\n",
           flags=FLAGS, program="pretrain_gpt.py"):
    return f"{head}{launcher} {program} {flags} --tensor-model-parallel-size {tp}\n"


class Batch(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def run_batch(self, *args, code=0, environment=None):
        done = subprocess.run([FLIGHTPLAN, "validate", "--batch", *args], cwd=self.root, capture_output=True, timeout=60,
                              stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
        self.assertEqual(done.returncode, code, done.stdout.decode() + done.stderr.decode())
        return done.stdout.decode()

    def verdicts(self, *args, code=0):
        rows = [json.loads(line) for line in self.run_batch(*args, "--format", "jsonl", code=code).splitlines()]
        return {row["path"]: row for row in rows}

    def test_what_is_said_of_all_files_is_wrong_once(self):
        self.write("q/good.sh", script(2))
        done = subprocess.run([FLIGHTPLAN, "validate", "--batch", "q", "--gpu", "no-such-gpu"], cwd=self.root,
                              capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stderr.count(b"no GPU named 'no-such-gpu'"), 1, done.stderr)

    def test_table_shows_what_is_wrong_and_counts_the_rest(self):
        self.write("q/good.sh", script(2))
        self.write("q/bad.sbatch", script(3))
        self.write("q/other.sh", "echo hello\n")
        text = self.run_batch("q", code=1, environment={"COLUMNS": "200"})
        self.assertRegex(text, r"q/bad\.sbatch +refused +megatron-lm main +\[mesh\.expert-world-divisible\]")
        self.assertIn("3 files: 1 refused, 1 fine, 1 not judged", text)
        self.assertNotIn("q/good.sh", text)
        self.assertRegex(self.run_batch("q", "--verbose", code=1, environment={"COLUMNS": "200"}), r"q/good\.sh +allowed")

    def test_each_launch_of_a_script_is_judged(self):
        self.write("warm_up.sh", script(3) + script(2, head=""))
        self.write("sweep.sh", "for tp in 1 3 4; do\n" + script("$tp") + "done\n")
        self.write("good.sh", script(1) + script(2, head=""))
        rows = self.verdicts(".", code=1)
        self.assertEqual({path: row["verdict"] for path, row in rows.items()},
                         {"./warm_up.sh": "refused", "./sweep.sh": "refused", "./good.sh": "allowed"})
        for name, other in (("warm_up.sh", "launch 2 of 2, line 4 (--tensor-model-parallel-size 2): accepted"),
                            ("sweep.sh", "launches 1, 3 of 3, line 4 (")):
            one = subprocess.run([FLIGHTPLAN, "validate", name], cwd=self.root, capture_output=True, text=True, timeout=60,
                                 env={**os.environ, "COLUMNS": "400"}, check=False)
            self.assertEqual(one.returncode, 1, one.stderr)
            self.assertIn(other, one.stdout)
        # A repair goes through all of them, and the next look finds nothing.
        for name in ("warm_up.sh", "sweep.sh"):
            fixed = subprocess.run([FLIGHTPLAN, "fix", name, "--write"], cwd=self.root, capture_output=True, text=True,
                                   timeout=60, check=False)
            self.assertEqual(fixed.returncode, 0, fixed.stdout + fixed.stderr)
        self.assertEqual({row["verdict"] for row in self.verdicts(".").values()}, {"allowed"})

    def test_exit_code_is_0_without_errors(self):
        self.write("good.sh", script(2))
        self.run_batch("good.sh")

    def test_order_is_by_path_and_the_same_each_time(self):
        for i in range(40):
            self.write(f"d{i % 3}/{i:02}.sh", script(2 + i % 2))
        first = self.run_batch(".", "--format", "jsonl", code=1)
        self.assertEqual(first, self.run_batch(".", "--format", "jsonl", code=1))
        paths = [json.loads(line)["path"] for line in first.splitlines()]
        self.assertEqual(paths, sorted(paths))
        self.assertEqual(len(paths), 40)

    def test_list_of_paths(self):
        self.write("a.sh", script(2))
        self.write("b.job", script(3))  # an ending that a folder would skip
        self.write("queue.txt", "# comment\nb.job\n\na.sh\na.sh\n")
        self.assertEqual(list(self.verdicts("@queue.txt", code=1)), ["a.sh", "b.job"])

    def test_size_comes_from_the_sbatch_lines(self):
        head = "#!/bin/bash\n#SBATCH --nodes=3\n#SBATCH --gpus-per-node=8\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\n"
        self.write("a.sbatch", script(1, "srun", head).replace("srun ", "srun python "))
        self.write("b.sbatch", script(16, "torchrun --nnodes=$SLURM_NNODES --nproc-per-node=8", head))
        rows = self.verdicts("a.sbatch", "b.sbatch", code=1)
        self.assertIn("mlm.world-divisible", [f["rule_id"] for f in rows["b.sbatch"]["findings"]])
        self.assertIn("world_size=24", rows["b.sbatch"]["findings"][0]["seen"])

    def test_each_stack_is_recognised_and_its_release_taken(self):
        self.write("m.sh", script(2))
        self.write("l.sh", "torchrun --nproc-per-node 8 $LOONGFORGE_PATH/loongforge/train.py --model-name qwen3-30b-a3b "
                           "--tensor-model-parallel-size 2 --sequence-parallel --micro-batch-size 1 --seq-length 4096 "
                           "--max-position-embeddings 4096 --train-iters 10 --lr 1e-4\n")
        self.write("b.sh", "torchrun --nproc-per-node 8 scripts/training/run_recipe.py --recipe qwen3_30b_a3b_pretrain_config "
                           "model.tensor_model_parallel_size=2 model.sequence_parallel=true model.expert_model_parallel_size=8\n")
        rows = self.verdicts(".", "--release", "megatron-lm@0.17,loongforge")
        self.assertEqual(rows["./m.sh"]["target"], "megatron-lm 0.17")
        self.assertTrue(rows["./l.sh"]["target"].startswith("loongforge"))
        self.assertEqual(rows["./b.sh"]["target"], "megatron-bridge main")

    def test_what_a_file_says_of_itself_goes_under_the_command_line(self):
        head = "#!/bin/bash\n# flightplan: --target megatron-lm --gpus 16\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\n"
        self.write("a.sh", script(3, "torchrun", head))
        for flags, indivisible in (([], True), (["--gpus", "48"], False)):
            with self.subTest(flags):
                row = self.verdicts("a.sh", "--release", "megatron-lm@0.17", *flags, code=1)["a.sh"]
                self.assertEqual(row["target"], "megatron-lm 0.17")
                self.assertEqual("mlm.world-divisible" in [f["rule_id"] for f in row["findings"]], indivisible)
                for command in ("validate", "fix"):
                    alone = subprocess.run([FLIGHTPLAN, command, "a.sh", *flags], cwd=self.root, capture_output=True, timeout=60)
                    self.assertEqual(b"[mlm.world-divisible]" in alone.stdout + alone.stderr, indivisible, alone)
        self.write("b.sh", script(2, "torchrun", "# flightplan: --gpuz 16\n"))
        for command in (["validate"], ["validate", "--batch"], ["fix"], ["diff", "a.sh"]):
            with self.subTest(command):
                done = subprocess.run([FLIGHTPLAN, *command, "b.sh"], cwd=self.root, capture_output=True, timeout=60)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(b"b.sh: its comment # flightplan: unknown flag --gpuz; did you mean --gpu", done.stderr)

    def test_a_file_alone_is_recognised_too(self):
        for name, text, target in (("m.sh", script(2), "megatron-lm main"),
                                   ("l.sh", "torchrun --nproc-per-node 8 $LOONGFORGE_PATH/loongforge/train.py --bf16\n",
                                    "loongforge main"),
                                   ("b.sh", "torchrun scripts/training/run_recipe.py --recipe qwen3_30b_a3b_pretrain_config\n",
                                    "megatron-bridge main"),
                                   ("l.yaml", "_target_: loongforge.models.foundation.LLaMAConfig\nnum_layers: 2\n",
                                    "loongforge main"),
                                   ("p.yaml", "work_group: a\nmodules:\n  post_trainer:\n    num_layers: 4\n", ""),
                                   ("notes.txt", "hello\n", "")):
            with self.subTest(name):
                done = subprocess.run([FLIGHTPLAN, "validate", str(self.write(name, text)), "--format", "json"],
                                      capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
                self.assertEqual(json.loads(done.stdout)["target"], target, done.stderr)

    def test_nothing_is_refused_for_what_the_launch_does_not_show(self):
        self.write("a.sh", "torchrun --nproc-per-node 8 pretrain_gpt.py $MODEL_ARGS --micro-batch-size 1 "
                           "--global-batch-size 8 --tensor-model-parallel-size 2\n")
        self.write("b.sh", script("$TP"))
        self.write("c.sh", script(3, "torchrun --nnodes $NODES --nproc-per-node 8").replace("heads 32", "heads 33")
                   .replace("--hidden-size 4096", "--hidden-size 4224"))
        self.write("d.sh", script(2, program="my_pretrain.py") + "\n")
        self.write("e.sh", script(2, "torchrun --nnodes ${NNODES:-1} --nproc-per-node 3"))
        rows = self.verdicts(".")
        self.assertEqual({row["verdict"] for path, row in rows.items() if path not in ("./c.sh", "./e.sh")}, {"allowed"})
        self.assertNotIn("mlm.world-divisible", [f["rule_id"] for f in rows["./c.sh"]["findings"]])
        self.assertEqual(rows["./e.sh"]["verdict"], "warned")  # the count is only the script's default
        self.assertTrue(any("mlm.required-args" in what for what in rows["./a.sh"]["not_judged"]))

    def test_bad_input_is_not_judged_never_run_and_never_hangs(self):
        self.write("empty.sh", "")
        self.write("binary.sh", b"#!/bin/bash\n\x7fELF\0\0\0")
        self.write("large.sh", "# " + "x" * (10 << 20) + "\n")
        self.write("hostile.sh", f"touch {self.root}/owned\n$(touch {self.root}/owned)\n`touch {self.root}/owned`\n"
                                 + script(f"$(touch {self.root}/owned; echo 2)"))
        self.write("deep.sh", "A=x\n" + "".join(f"A=$A$A\n" for _ in range(64)) + script("$A"))
        self.write("bytes.sh", b"\xff\xfe\x80 torchrun x.py --\xc3\x28\n")
        os.mkfifo(self.root / "fifo.sh")
        os.symlink("/dev/zero", self.root / "zero.sh")
        os.symlink(".", self.root / "loop")
        self.write("list.txt", "missing.sh\nempty.sh\n")
        started = time.monotonic()
        rows = self.verdicts(".")  # what a folder holds may be anything
        rows.update(self.verdicts(".", "@list.txt", code=2))
        self.assertLess(time.monotonic() - started, 30)
        self.assertFalse((self.root / "owned").exists())
        for name in ("./empty.sh", "./binary.sh", "./large.sh", "./bytes.sh", "./fifo.sh", "./zero.sh", "missing.sh"):
            self.assertEqual(rows[name]["verdict"], "not_judged", name)
        for name in ("./hostile.sh", "./deep.sh"):
            self.assertNotEqual(rows[name]["verdict"], "refused", rows[name])

    def test_what_is_named_and_cannot_be_read_is_told(self):
        self.write("a.sh", script(2))
        self.write("bytes.sh", b"\xff\xfe torchrun x.py\n")
        self.write("refused.sh", script(3, "torchrun --nnodes 1 --nproc-per-node 8"))
        self.write("list.txt", "a.sh\nmissing.sh\n")
        for names, told, code in ((["@list.txt"], "missing.sh: no such file", 2), (["a.sh", "bytes.sh"], "bytes.sh is no UTF-8 text", 2),
                                  (["refused.sh", "@list.txt"], "missing.sh: no such file", 1),
                                  (["a.sh", "missing.sh"], "missing.sh: no such file", 2)):
            with self.subTest(names):
                done = subprocess.run([FLIGHTPLAN, "validate", "--batch", *names], cwd=self.root, capture_output=True, timeout=60)
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)
                self.assertIn(f"not judged: {told}", done.stderr.decode())
                self.assertIn(b"1 refused" if code == 1 else b"1 fine", done.stdout)

    def test_a_file_whose_own_words_are_refused_is_told(self):
        self.write("q/a.sh", script(2))
        self.write("q/own.sh", script(2, head="# flightplan: --te abc\n"))
        for name, code in (("q", 0), ("q/own.sh", 2)):
            with self.subTest(name):
                done = subprocess.run([FLIGHTPLAN, "validate", "--batch", name], cwd=self.root, capture_output=True, timeout=60)
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)
                self.assertIn("not judged: q/own.sh: ", done.stderr.decode())
                self.assertIn("'abc' is not a version", done.stderr.decode())

    def test_misuse(self):
        self.write("a.sh", script(2))
        self.run_batch(code=2)
        self.run_batch("a.sh", "--format", "json", code=2)
        self.run_batch("a.sh", "--set", "num_layers=2", code=2)
        self.run_batch("@missing.txt", code=2)
        self.run_batch("a.sh", "--server", f"unix:{self.root}/none.sock", code=3)

    def test_sarif(self):
        self.write("sub dir/bad #1.sh", script(3))
        self.write("good.sh", script(2))
        self.write("other.sh", "echo hello\n")
        log = json.loads(self.run_batch(".", "--format", "sarif", code=1))
        run = log["runs"][0]
        self.assertEqual(run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
                         "sub%20dir/bad%20%231.sh")
        self.assertGreater(run["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"], 1)
        for result in run["results"]:
            self.assertEqual(run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"], result["ruleId"])
        self.assertEqual([n["message"]["text"] for n in run["invocations"][0]["toolExecutionNotifications"]],
                         ["not judged: no command in it runs a Python file"])
        if jsonschema is None:
            self.skipTest("python3-jsonschema is not installed")
        schemas = [HERE / "sarif.schema.json"]
        if "SARIF_SCHEMA" in os.environ:  # the standard's own, where somebody has it
            schemas.append(pathlib.Path(os.environ["SARIF_SCHEMA"]))
        for schema in schemas:
            jsonschema.validate(log, json.loads(schema.read_text()))

    def test_a_server_gives_the_same_bytes(self):
        self.write(os.fsdecode(b"caf\xe9.sh"), script(2))  # no file's name ends the batch, whatever its bytes
        for i in range(30):
            self.write(f"{i}.sh", script(1 + i % 4))
        self.write("other.sh", "echo hello\n")
        socket = self.root / "s.sock"
        server = subprocess.Popen([FLIGHTPLAN, "serve", f"--listen=unix:{socket}", "--http_listen=", "--drain_delay=0s"],
                                  stderr=subprocess.DEVNULL)
        try:
            for _ in range(200):
                if socket.exists():
                    break
                time.sleep(0.05)
            for output in ("jsonl", "sarif", "table"):
                self.assertEqual(self.run_batch(".", "--format", output, code=1),
                                 self.run_batch(".", "--format", output, "--server", f"unix:{socket}", code=1))
            self.assertEqual(self.verdicts(".", "--server", f"unix:{socket}", code=1)["./caf?.sh"]["verdict"], "allowed")
        finally:
            server.terminate()
            server.wait(30)

    def test_pre_commit_hook_names_a_command_that_works(self):
        hook = (HERE / "../../.pre-commit-hooks.yaml").resolve().read_text()
        entry = re.search(r"^  entry: flightplan (.*)$", hook, re.M).group(1).split()
        files = re.search(r"^  files: '(.*)'$", hook, re.M).group(1)
        self.write("bad.sh", script(3))
        self.assertTrue(re.search(files, "jobs/train.sbatch"))
        self.assertFalse(re.search(files, "notes.md"))
        done = subprocess.run([FLIGHTPLAN, *entry, "bad.sh"], cwd=self.root, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 1)


if __name__ == "__main__":
    unittest.main()
