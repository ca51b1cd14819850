#!/usr/bin/env python3
"""The worker as a process: its lines, exit codes, faults, signals, and the answer of a node without a GPU."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

WORKER = sys.argv.pop(1)
SYNTHETIC = str(pathlib.Path(__file__).parent / "testdata" / "synthetic.json")


def run(*arguments, **options):
    return subprocess.run([WORKER, *arguments], capture_output=True, timeout=60, **options)


def lines_of(done):
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


class Worker(unittest.TestCase):
    def test_replays_a_whole_profile(self):
        done = run("--fake", SYNTHETIC)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = lines_of(done)
        self.assertEqual(list(lines[0]), ["device"])
        self.assertEqual(list(lines[-1]), ["profile"])
        self.assertTrue(all(len(line) == 1 for line in lines))
        rows = [line["row"] for line in lines if "row" in line]
        profile = lines[-1]["profile"]
        self.assertEqual(profile["rows"], rows)
        self.assertEqual(profile["kind"], "synthetic")
        self.assertEqual({row["kind"] for row in rows}, {"synthetic"})
        ratios = [line["progress"]["done_ratio"] for line in lines if "progress" in line]
        self.assertEqual(ratios, sorted(ratios))
        self.assertLess(ratios[-1], 1)

    def test_bad_options_and_files(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as bad:
            bad.write("[1,")
            bad.flush()
            for arguments in (["--groups", "x"], ["--fake", "/nonexistent"], ["--fault", "crash"], ["--fake", bad.name]):
                done = run(*arguments)
                self.assertEqual(done.returncode, 2, arguments)
                self.assertEqual(lines_of(done)[-1]["error"]["code"], "bad_option")

    def test_lists_rows_and_options(self):
        self.assertIn(b"unpermute.bwd", run("--list").stdout)
        self.assertIn(b"--budget-seconds", run("--help").stdout)
        self.assertEqual(run("--version").returncode, 0)

    def test_faults(self):
        self.assertEqual(run("--fake", SYNTHETIC, "--fault", "crash").returncode, -signal.SIGABRT)
        for fault in ("garbage", "truncated", "wrong_schema", "no_profile"):
            done = run("--fake", SYNTHETIC, "--fault", fault)
            self.assertEqual(done.returncode, 0, fault)
            self.assertEqual(done.stdout.count(b'{"row"'), 3 if fault == "truncated" else 2, fault)
            if fault in ("truncated", "garbage"):
                with self.assertRaises(ValueError):
                    [json.loads(line) for line in done.stdout.splitlines()]
            elif fault == "no_profile":
                self.assertNotIn(b"profile", done.stdout)
        for fault, stream in (("flood", "stdout"), ("stderr_flood", "stderr")):
            with subprocess.Popen([WORKER, "--fake", SYNTHETIC, "--fault", fault], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as child:
                self.assertEqual(len(getattr(child, stream).read(1 << 20)), 1 << 20)
                child.kill()

    def test_a_hang_is_ended_by_the_watchdog(self):
        done = run("--fake", SYNTHETIC, "--fault", "hang", "--budget-seconds", "0.5")
        self.assertEqual(done.returncode, 7)
        lines = lines_of(done)
        self.assertEqual(lines[-1]["error"]["code"], "out_of_time")
        self.assertTrue(lines[-2]["profile"]["partial"])
        self.assertEqual(len(lines[-2]["profile"]["rows"]), 2)

    def slow(self, directory):
        fake = json.loads(pathlib.Path(SYNTHETIC).read_text())
        fake["sample_ms"] = 20
        path = pathlib.Path(directory) / "slow.json"
        path.write_text(json.dumps(fake))
        return str(path)

    def test_a_signal_keeps_what_was_measured(self):
        with tempfile.TemporaryDirectory() as directory:
            child = subprocess.Popen([WORKER, "--fake", self.slow(directory)], stdout=subprocess.PIPE)
            lines = []
            while not any("row" in line for line in lines):
                lines.append(json.loads(child.stdout.readline()))
            child.send_signal(signal.SIGTERM)
            lines += [json.loads(line) for line in child.stdout.read().splitlines()]
            child.stdout.close()
            self.assertEqual(child.wait(), 0)
        profile = lines[-1]["profile"]
        self.assertTrue(profile["partial"])
        self.assertGreaterEqual(len(profile["rows"]), 1)
        self.assertTrue(any("stopped" in note for note in profile["notes"]))

    def test_ends_when_nobody_reads(self):
        with tempfile.TemporaryDirectory() as directory:
            child = subprocess.Popen([WORKER, "--fake", self.slow(directory)], stdout=subprocess.PIPE)
            child.stdout.readline()
            child.stdout.close()
            child.wait(timeout=30)

    def test_one_probe_per_device(self):
        with tempfile.TemporaryDirectory() as directory:
            first = subprocess.Popen([WORKER, "--fake", self.slow(directory), "--lock-dir", directory],
                                     stdout=subprocess.PIPE)
            first.stdout.readline()  # the device line comes with the lock held
            second = run("--fake", SYNTHETIC, "--lock-dir", directory)
            first.terminate()
            first.communicate()
            self.assertEqual(second.returncode, 6)
            self.assertEqual(lines_of(second)[-1]["error"]["code"], "locked")
            self.assertEqual(run("--fake", SYNTHETIC, "--lock-dir", directory).returncode, 0)

    @unittest.skipIf(os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/dxg"), "this node has a GPU")
    def test_no_gpu_is_an_answer(self):
        done = run()
        self.assertEqual(done.returncode, 3)
        error = lines_of(done)[-1]["error"]
        self.assertEqual(error["code"], "no_gpu")
        self.assertEqual(len(lines_of(done)), 1)


if __name__ == "__main__":
    unittest.main(verbosity=0)
