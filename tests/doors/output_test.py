#!/usr/bin/env python3
"""Every command whose output cannot be written: it says so, with the exit code for that. And every command whose reader
goes away: it ends in silence by SIGPIPE, as git and coreutils do.

usage: output_test.py FLIGHTPLAN_BINARY
"""
import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))
ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 60  # until a command counts as hung, on the slowest machine
MISUSE, NOT_WRITTEN = 2, 5
BY_SIGPIPE = -signal.SIGPIPE

SIZE = "--model qwen3-30b-a3b --gpu h100-sxm --gpus 16 --tp 1 --pp 1 --ep 8"
# A command line of every command that prints something; {name}: a file of `files`.
COMMANDS = {
    "resolve": [f"resolve {SIZE}", f"resolve {SIZE} --format json"],
    "plan": ["plan --model qwen3-30b-a3b --gpu h100-sxm --gpus 16 --top 1"],
    "diff": [f"diff {SIZE} -- -- --ep 4", f"diff {SIZE} --format json -- -- --ep 4"],
    "validate": ["validate {launch}", "validate {launch} --format json", "validate --batch {launch} --format jsonl",
                 "validate --batch {launch} --format sarif", "validate --slurm-script {launch}"],
    "fix": ["fix {launch}", "fix {launch} --format json"],
    "convert": ["convert {launch} --from megatron-lm --to megatron-bridge"],
    "timeline": [f"timeline {SIZE}", f"timeline {SIZE} --format svg", f"timeline {SIZE} --format trace",
                 f"timeline {SIZE} --format table", f"timeline {SIZE} --format json"],
    "explain": ["explain moe_token_dispatcher_type"],
    "rules": ["rules", "rules --format json"],
    "knobs": ["knobs", "knobs --format json"],
    "models": ["models", "models --format json"],
    "gpus": ["gpus", "gpus --format json"],
    "site": ["site --help"],
    "fingerprint": ["fingerprint --root {folder}", "fingerprint --root {folder} --format json"],
    "probe": ["probe --list", "probe --list --format json"],
    "observe": ["observe {empty} --launch {launch}", "observe {empty} --format json"],
    "evidence": ["evidence export --evidence-store {store}", "evidence list --evidence-store {store}",
                 "evidence import {measurement} --evidence-store {store}"],
    "replay": ["replay {empty}"],
    "serve": ["serve --help", "serve --print_config", "serve --check_config"],
    "mcp": ["mcp --install-skill {folder}"],
    "lsp": ["lsp --help"],
    "schema": ["schema megatron-lm-yaml", "schema serve-config"],
    "completion": ["completion bash", "completion zsh", "completion fish"],
    "man": ["man"],
    "version": ["version"],
    "help": ["help", "--help", "--version"],
}
MEASUREMENT = {
    "id": "run-1", "metric": "step_time_us", "value": 4.2e6, "model": "qwen3-30b-a3b", "gpu": "h100-sxm", "gpu_count": 16,
    "layout": {"tensor_model_parallel_size": 1, "pipeline_model_parallel_size": 1, "expert_model_parallel_size": 8},
    "workload": {"seq_length": 4096, "global_batch_size": 256}, "target": {"framework": "megatron-lm"}, "quality": "matched",
    "measure_time": "2026-01-01T00:00:00Z", "receive_time": "2026-01-01T00:00:00Z"}


class Output(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = pathlib.Path(folder.name)
        cls.files = {name: cls.root / name for name in ("launch", "empty", "measurement", "folder")}
        cls.files["store"] = f"sqlite:{cls.root}/evidence.db"
        cls.files["launch"].write_text(
            "export CUDA_DEVICE_MAX_CONNECTIONS=1\ntorchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers 4 "
            "--hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 "
            "--global-batch-size 16 --num-experts 64 --expert-model-parallel-size 64 --recompute-granularity full --bf16 "
            "--train-iters 10 --lr 1e-4 --tokenizer-type NullTokenizer --mock-data\n")
        cls.files["empty"].touch()
        cls.files["folder"].mkdir()
        cls.files["measurement"].write_text(json.dumps(MEASUREMENT) + "\n")
        cls.environment = {**os.environ, "FLIGHTPLAN_PROFILE_DIR": f"{cls.root}/profiles", "LC_ALL": "C"}
        subprocess.run([FLIGHTPLAN, "evidence", "import", cls.files["measurement"], "--evidence-store", cls.files["store"]],
                       check=True, env=cls.environment, stdout=subprocess.DEVNULL)

    def run_command(self, line, **options):
        words = [word.format(**self.files) for word in line.split()]
        return subprocess.run([FLIGHTPLAN, *words], cwd=self.root, env=self.environment, timeout=SECONDS,
                              **{"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE, **options})

    def each_line(self):
        for lines in COMMANDS.values():
            yield from lines
        for name in COMMANDS:
            yield f"{name} --help"
            yield f"help {name}"

    def not_written(self, done, why):
        self.assertEqual(done.returncode, NOT_WRITTEN, done.stderr)
        said = [line for line in done.stderr.decode().splitlines() if "cannot write" in line]
        self.assertEqual(len(said), 1, done.stderr)
        self.assertIn(f"flightplan: cannot write standard output: {why}", said[0])

    def test_every_command_is_here(self):
        done = self.run_command("help", stdout=subprocess.PIPE)
        self.assertEqual(re.findall(r"^  ([a-z]+) {2,}\S", done.stdout.decode().split("Try:")[0], re.M), list(COMMANDS))
        for line in self.each_line():
            with self.subTest(line):
                done = self.run_command(line, stdout=subprocess.PIPE)
                self.assertIn(done.returncode, (0, 1), done.stderr)
                self.assertNotEqual(done.stdout, b"", "it prints nothing, so it shows nothing here")

    def test_a_full_disk(self):
        for line in self.each_line():
            with self.subTest(line), open("/dev/full", "wb") as full:
                self.not_written(self.run_command(line, stdout=full), "No space left on device")

    def test_standard_output_that_is_closed(self):
        for line in self.each_line():
            with self.subTest(line):
                self.not_written(self.run_command(line, preexec_fn=lambda: os.close(1)), "Bad file descriptor")

    def test_a_reader_that_is_gone(self):
        for ignored in (False, True):  # a parent that ignores SIGPIPE hands that down
            for line in self.each_line():
                with self.subTest(line, ignored=ignored):
                    reader, writer = os.pipe()
                    os.close(reader)
                    done = self.run_command(line, stdout=writer, restore_signals=not ignored)
                    os.close(writer)
                    self.assertEqual(done.returncode, BY_SIGPIPE, done.stderr)
                    self.assertNotIn(b"rite", done.stderr)

    def test_a_disk_that_is_full_in_the_middle(self):
        limit = 4096

        def bounded():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        whole = self.run_command("rules --format json", stdout=subprocess.PIPE).stdout
        path = self.root / "part.json"
        with open(path, "wb") as part:
            self.not_written(self.run_command("rules --format json", stdout=part, preexec_fn=bounded), "File too large")
        self.assertEqual(path.read_bytes(), whole[:limit])
        with self.assertRaises(json.JSONDecodeError):
            json.loads(path.read_bytes())

    def test_standard_error_that_is_full(self):
        with open("/dev/full", "wb") as full:
            done = self.run_command("fix {launch}", stdout=subprocess.PIPE, stderr=full)
            self.assertIn(done.returncode, (1, NOT_WRITTEN))
            self.assertIn(b"+++", done.stdout)
            self.assertEqual(self.run_command("no-such-command", stdout=subprocess.PIPE, stderr=full).returncode, MISUSE)

    def test_no_file_takes_the_place_of_a_closed_standard_output(self):
        store = self.root / "fresh.db"
        done = self.run_command(f"evidence import {{measurement}} --evidence-store sqlite:{store}", preexec_fn=lambda: os.close(1))
        self.assertEqual(done.returncode, NOT_WRITTEN, done.stderr)
        self.assertTrue(store.read_bytes().startswith(b"SQLite format 3\0"))

    def test_files_by_name_are_whole_or_as_they_were(self):
        fake = ROOT / "probe/testdata/synthetic.json"
        probe = f"probe --fake {fake} --groups overlap --out"
        path = self.root / "profile.json"
        done = self.run_command(f"{probe} {path}", stdout=subprocess.DEVNULL)
        if b"flightplan-probe" in done.stderr:
            self.skipTest("needs flightplan-probe beside flightplan")
        self.assertEqual(done.returncode, 0, done.stderr)
        umask = os.umask(0)
        os.umask(umask)
        self.assertEqual(path.stat().st_mode & 0o777, 0o666 & ~umask)
        json.loads(path.read_bytes())
        path.write_text("mine\n")
        path.chmod(0o640)

        def bounded():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
        done = self.run_command(f"{probe} {path}", stdout=subprocess.DEVNULL, preexec_fn=bounded)
        self.assertEqual(done.returncode, NOT_WRITTEN, done.stderr)
        self.assertIn(f"cannot write {path}: File too large", done.stderr.decode())
        self.assertEqual(path.read_text(), "mine\n")
        self.assertEqual(sorted(p.name for p in self.root.glob("profile.json*")), ["profile.json"])
        done = self.run_command(f"{probe} /dev/full", stdout=subprocess.DEVNULL)
        self.assertEqual(done.returncode, NOT_WRITTEN, done.stderr)
        self.assertTrue(pathlib.Path("/dev/full").is_char_device())
        self.assertEqual(self.run_command(f"{probe} {path}", stdout=subprocess.DEVNULL).returncode, 0)
        self.assertEqual(path.stat().st_mode & 0o777, 0o640)

    def test_a_server_outlives_the_reader_of_its_log(self):
        path = self.root / "s.sock"
        reader, writer = os.pipe()
        server = subprocess.Popen([FLIGHTPLAN, "serve", f"--listen=unix:{path}", "--http_listen=", "--drain_delay=0s",
                                   "--decision_log=stdout"], stdout=writer, stderr=writer, env=self.environment)
        os.close(writer)
        try:
            for _ in range(400):
                if path.exists():
                    break
                time.sleep(0.05)
            os.close(reader)
            for _ in range(3):
                done = self.run_command(f"resolve {SIZE} --server unix:{path}", stdout=subprocess.DEVNULL)
                self.assertEqual(done.returncode, 0, done.stderr)
            with socket.socket(socket.AF_UNIX) as alive:
                alive.connect(str(path))
            self.assertIsNone(server.poll())
        finally:
            server.terminate()
            self.assertEqual(server.wait(30), 0)


if __name__ == "__main__":
    unittest.main()
