#!/usr/bin/env python3
"""`flightplan observe`: a run beside its launch, whatever its output looks like.

usage: observe_test.py FLIGHTPLAN_BINARY
"""
import gzip
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))
HERE = pathlib.Path(__file__).resolve().parent
LAUNCH = HERE / "observe" / "mixtral.sh"
LOGS = HERE.parent.parent / "resolver" / "runlog" / "testdata" / "logs"
MACHINE = ["--launch", str(LAUNCH), "--gpu", "h100-sxm", "--gpus", "16"]
HEAD = re.compile(r"\d[\d,.]*")


def report(iteration, ms, batch=128, tflops=None):
    # 20.5 PFLOP of a step on 16 GPUs, as the launch counts them.
    tflops = 20500 / 16 / (ms / 1000) if tflops is None else tflops
    return (f" [2026-01-01 00:00:00] iteration {iteration:8d}/     100 | consumed samples: {iteration * batch:12d} | "
            f"elapsed time per iteration (ms): {ms:.1f} | throughput per GPU (TFLOP/s/GPU): {tflops:.1f} | "
            f"learning rate: 1.0E-04 | global batch size: {batch:5d} | lm loss: 2.0E+00 | loss scale: 1.0 | grad norm: 1.0 | "
            "number of skipped iterations:   0 | number of nan iterations:   0 |\n")


def run_text(ms=4200, iterations=40):
    text = ("[Rank 0] (after 2 iterations) memory (MB) | allocated: 54250.97 | max allocated: 74000.00 | reserved: 76000.0 | "
            "max reserved: 76000.0\n")
    rows = random.Random(3)
    for i in range(1, iterations + 1):
        text += report(i, 60000 if i == 1 else ms * (1 + 0.01 * rows.random()))
    return text + "[after training is done] datetime: 2026-01-01 00:00:00\n"


class Observe(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, text):
        path = pathlib.Path(self.folder.name) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    def observe(self, *args, code=0, stdin=None):
        done = subprocess.run([FLIGHTPLAN, "observe", *args], capture_output=True, timeout=120, input=stdin)
        self.assertEqual(done.returncode, code, done.stdout.decode() + done.stderr.decode())
        return done.stdout.decode()

    def answer(self, *args, code=0, stdin=None):
        return json.loads(self.observe(*args, "--format", "json", code=code, stdin=stdin))

    def figure(self, answer, name):
        return next(figure for figure in answer["figures"] if figure["name"] == name)

    def test_a_run_beside_its_forecast(self):
        log = self.path("run.log", run_text())
        page = self.observe(log, *MACHINE)
        head = page.split("\n\n")[0]
        self.assertIn("inside the forecast", head)
        self.assertLessEqual(len(HEAD.findall(head.split("\n", 1)[1])), 8, head)
        self.assertIn("39 reports of iterations 2 to 40; left out: 1 of warm-up", page)
        answer = self.answer(log, *MACHINE)
        self.assertTrue(answer["matches_launch"])
        step = self.figure(answer, "step_time_us")
        self.assertEqual(step["verdict"], "inside")
        self.assertAlmostEqual(step["measured"], 4.22e6, delta=2e4)
        self.assertEqual(self.figure(answer, "allocated_bytes")["stage"], 0)
        self.assertGreater(self.figure(answer, "tokens_per_second_per_gpu")["measured"], 3500)
        self.assertTrue(answer["run"]["finished"])

    def test_a_public_log_beside_a_launch_of_its_size(self):
        answer = self.answer(str(LOGS / "mlm-756-mixtral.log"), *MACHINE)
        self.assertTrue(answer["matches_launch"])
        self.assertAlmostEqual(self.figure(answer, "step_time_us")["measured"], 5533.8e3, delta=1)
        states = self.figure(answer, "states_bytes")  # counted exactly, so the printed bytes are the forecast's
        self.assertAlmostEqual(states["measured"] / states["forecast"], 1, delta=0.005)
        self.assertTrue(self.figure(answer, "allocated_bytes")["at_least"])

    def test_the_next_change_is_legal_and_forecast(self):
        answer = self.answer(self.path("run.log", run_text()), *MACHINE)
        sets = [word for knob in answer["next"]["knobs"] for word in ("--set", f"{knob['name']}={knob['value']}")]
        self.assertTrue(sets)
        done = subprocess.run([FLIGHTPLAN, "validate", str(LAUNCH), "--gpu", "h100-sxm", "--gpus", "16", "--format", "json", *sets],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0)
        then = json.loads(done.stdout)["estimate"]["step_time_us"]["value"]
        now = self.figure(answer, "step_time_us")["forecast"]
        self.assertAlmostEqual(then / now - 1, answer["next"]["step_change_ratio"], places=9)

    def test_a_run_of_another_launch_is_not_compared(self):
        page = self.observe(self.path("run.log", "".join(report(i, 4000, batch=512) for i in range(1, 9))), *MACHINE, code=1)
        self.assertIn("not a run of this launch", page)
        self.assertIn("global_batch_size: launch 128, run 512", page)
        self.assertNotIn("forecast ", page.split("Nothing is compared")[0].split("\n", 1)[1])

    def test_a_log_in_which_nothing_was_read_matches_no_launch(self):
        self.assertNotIn("matches_launch", self.answer(self.path("empty.log", "hello\n"), *MACHINE))

    def test_printed_arguments_are_held_against_the_launch(self):
        block = ("------------------------ arguments ------------------------\n"
                 "  num_layers ...................................... {}\n"
                 "  overlap_grad_reduce ............................. {}\n"
                 "  moe_router_load_balancing_type .................. ['aux_loss']\n"
                 "  pipeline_model_parallel_layout .................. PipelineParallelLayerLayout(x)\n"
                 "  world_size ...................................... 16\n"
                 "-------------------- end of arguments ---------------------\n")
        other = self.answer(self.path("a.log", block.format(40, True) + run_text()), *MACHINE, code=1)
        self.assertEqual([m["name"] for m in other["mismatches"]], ["num_layers"])
        slower = self.answer(self.path("b.log", block.format(32, False) + run_text()), *MACHINE)
        self.assertTrue(slower["matches_launch"])
        self.assertEqual([(m["name"], m["run"]) for m in slower["mismatches"]], [("overlap_grad_reduce", "False")])

    def test_the_same_figures_however_it_is_packed(self):
        text = run_text()
        plain = self.figure(self.answer(self.path("run.log", text), *MACHINE), "step_time_us")
        packed = gzip.compress(text[:5000].encode()) + gzip.compress(text[5000:].encode())
        ranks = "".join(f"{rank}: {line}\n" for line in text.splitlines() for rank in range(3))
        for name, variant in [("a.log.gz", packed), ("b.log", text.replace("\n", "\r\n")), ("c.log", ranks),
                              ("d.log", "".join(f"[default7]:\x1b[32m{line}\x1b[0m\0\n" for line in text.splitlines())),
                              ("e.log", "".join(f"\r 10%|#| 1/10{'x' * 50}\r{line}\n" for line in text.splitlines()))]:
            self.assertEqual(self.figure(self.answer(self.path(name, variant), *MACHINE), "step_time_us"), plain, name)
        self.assertEqual(self.figure(self.answer("-", *MACHINE, stdin=text.encode()), "step_time_us"), plain)

    def test_a_folder_of_logs(self):
        lines = run_text().splitlines(keepends=True)
        self.path("logs/rank0.log", "".join(lines[:25]))
        self.path("logs/rank1.log", "".join(lines[20:]))
        self.path("logs/gpu.csv", "index, memory.used [MiB], memory.total [MiB]\n0, 76000 MiB, 81559 MiB\n")
        self.path("logs/model.pt", b"\0" * 1000)
        answer = self.answer(str(pathlib.Path(self.folder.name) / "logs"), *MACHINE)
        self.assertEqual(answer["run"]["reports"], 40)
        self.assertEqual(self.figure(answer, "device_bytes")["measured"], 76000 * 2 ** 20)

    def test_a_trace_says_which_wall_it_is(self):
        def event(name, at, dur, group=""):
            args = {"stream": 7, **({"Process Group Description": group, "Collective name": "all_to_allv"} if group else {})}
            return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at, "dur": dur, "args": args}

        events = [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "ts": 0, "dur": 8e6}]
        for i in range(1000):  # of each 8 ms 3 compute, 4 exchange, 1 nothing
            events.append(event("gemm", 8000 * i, 3000))
            events.append(event("ncclDevKernel_SendRecv", 8000 * i + 3000, 4000, "EXPERT_MODEL_PARALLEL_GROUP"))
        trace = json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events})
        self.path("logs/run.log", "".join(report(i, 8000, tflops=20500 / 16 / 8) for i in range(1, 12)))
        self.path("logs/rank0.pt.trace.json.gz", gzip.compress(trace.encode()))
        page = self.observe(str(pathlib.Path(self.folder.name) / "logs"), *MACHINE)
        self.assertIn("is in communication and waiting for other ranks, by the trace", " ".join(page.split()))
        answer = self.answer(str(pathlib.Path(self.folder.name) / "logs"), *MACHINE)
        self.assertAlmostEqual(self.figure(answer, "exposed_communication_ratio")["measured"], 0.5, places=3)
        self.assertAlmostEqual(answer["trace"]["exposed_by_path_us"]["expert_parallel"], 4e6)

    def test_damaged_and_hostile_files(self):
        rows = random.Random(5)
        packed = gzip.compress(run_text().encode())
        for name, data in [("cut.gz", packed[:len(packed) // 2]), ("broken.gz", packed[:500] + b"xxxx" + packed[504:]),
                           ("noise.log", bytes(rows.randrange(256) for _ in range(200000))), ("empty.log", b""),
                           ("long.log", b"iteration" * 300000), ("zeros.log", b"\0" * 100000),
                           ("heads.log", b"iteration 1/ 2 | " * 20000), ("events.out.tfevents.1", b"\x18\0\0\0\0\0\0\0abcd" * 9)]:
            page = self.observe(self.path(name, data), *MACHINE)
            self.assertIn("taken from", page, name)
        self.assertIn("damaged", self.observe(self.path("broken.gz", packed[:60] + b"\xff" * 40 + packed[100:]), *MACHINE))
        self.observe(str(pathlib.Path(self.folder.name) / "missing.log"), code=2)
        self.observe(code=2)

    def test_follow_ends_with_the_run(self):
        path = self.path("run.log", "")
        text = run_text()
        follow = subprocess.Popen([FLIGHTPLAN, "observe", path, *MACHINE, "--follow", "--format", "json"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        with open(path, "a") as log:
            for at in range(0, len(text), 1500):  # lines in halves
                log.write(text[at:at + 1500])
                log.flush()
                time.sleep(0.02)
        out, err = follow.communicate(timeout=60)
        self.assertEqual((follow.returncode, err), (0, b""))
        self.assertEqual(json.loads(out)["run"]["reports"], 40)

    def test_follow_ends_at_an_interrupt_with_what_was_read(self):
        path = self.path("run.log", "".join(report(i, 4200) for i in range(1, 9)) + " iteration        9/     100 | elap")
        follow = subprocess.Popen([FLIGHTPLAN, "observe", path, *MACHINE, "--follow", "--format", "json"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        time.sleep(1)
        follow.send_signal(signal.SIGINT)
        out, _ = follow.communicate(timeout=60)
        self.assertEqual(follow.returncode, 0)
        self.assertEqual(json.loads(out)["run"]["reports"], 8)

    def test_a_report_holds_no_path_and_no_host(self):
        log = self.path("secret-host-17/run.log", run_text())
        out = self.observe(log, *MACHINE, "--report", "--model", "mixtral-8x7b", "--cluster", "test")
        lines = [json.loads(line) for line in out.splitlines()]  # the page stands on standard error
        self.assertEqual([line["metric"] for line in lines], ["step_time_us"])
        self.assertEqual(lines[0]["quality"], "directional")
        self.assertEqual(lines[0]["layout"]["expert_model_parallel_size"], 8)
        self.assertNotIn("secret", json.dumps(lines))
        store = f"sqlite:{self.folder.name}/evidence.db"
        done = subprocess.run([FLIGHTPLAN, "evidence", "import", "--evidence-store", store], input=out,
                              capture_output=True, text=True, timeout=60)
        if "without the server" not in done.stderr:
            self.assertEqual((done.returncode, done.stdout), (0, "1 added, 0 there already, 0 refused\n"), done.stderr)
        self.observe(log, *MACHINE, "--report", code=2)


if __name__ == "__main__":
    unittest.main()
