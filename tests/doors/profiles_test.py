#!/usr/bin/env python3
"""`flightplan observe` on what profilers leave: Nsight Systems' SQLite export and snapshots of PyTorch's allocator.

The reports are made here after the documented schema (NVIDIA's "SQLite Schema Reference"; PyTorch's
torch/csrc/cuda/memory_snapshot.cpp), the pickles by Python's own module.

usage: profiles_test.py FLIGHTPLAN_BINARY
"""
import gzip
import json
import os
import pathlib
import pickle
import random
import sqlite3
import subprocess
import sys
import tempfile
import unittest

FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))
LAUNCH = pathlib.Path(__file__).resolve().parent / "observe" / "mixtral.sh"
MACHINE = ["--launch", str(LAUNCH), "--gpu", "h100-sxm", "--gpus", "16"]
NAMES = {1: "void cutlass::Kernel<gemm>(Params)", 2: "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096>)",
         3: "void deep_ep::internode::dispatch<false>(int4 *)"}
GIB = 2 ** 30


def report(iteration):
    return (f" [2026-01-01 00:00:00] iteration {iteration:8d}/     100 | consumed samples: {iteration * 128:12d} | "
            f"elapsed time per iteration (ms): 8000.0 | throughput per GPU (TFLOP/s/GPU): {20500 / 16 / 8:.1f} | "
            "global batch size:   128 | lm loss: 2.0E+00 |\n")


def frames(file, function):
    return [{"filename": "/opt/train.py", "line": 1, "name": "main"}, {"filename": file, "line": 7, "name": function}]


class Profiles(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, data=None):
        path = pathlib.Path(self.folder.name) / name
        if data is not None:
            path.write_bytes(data)
        return str(path)

    def observe(self, *args, code=0, stdin=None):
        done = subprocess.run([FLIGHTPLAN, "observe", *args, "--format", "json"], capture_output=True, timeout=120, input=stdin)
        self.assertEqual(done.returncode, code, done.stdout.decode() + done.stderr.decode())
        return json.loads(done.stdout)

    def figure(self, answer, name):
        return next(figure for figure in answer["figures"] if figure["name"] == name)

    def database(self, name="report.sqlite", kernels=(), graphs=(), copies=(), extra=""):
        path = self.path(name)
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL)")
            db.executemany("INSERT INTO StringIds VALUES (?, ?)", NAMES.items())
            for table, rows in (("KERNEL", kernels), ("GRAPH_TRACE", graphs), ("MEMCPY", copies)):
                if rows:
                    db.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_{table} (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER "
                               "NOT NULL, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, "
                               "demangledName INTEGER, shortName INTEGER)")
                    db.executemany(f"INSERT INTO CUPTI_ACTIVITY_KIND_{table} VALUES (?, ?, ?, 1, 7, 0, ?, ?, ?)",
                                   [(*row, row[-1]) for row in rows])
            db.executescript(extra)
        db.close()
        return path

    @staticmethod
    def steps(device=0, process=1 << 24, count=1000):
        """Of each 8 ms 3 compute, 3 send and receive, 1 dispatch and 1 nothing."""
        rows = []
        for i in range(count):
            at = 8_000_000 * i + 5_000_000_000
            rows += [(at, at + 3_000_000, device, process, 1), (at + 2_000_000, at + 6_000_000, device, process, 2),
                     (at + 6_000_000, at + 7_000_000, device, process, 3)]
        return rows

    def test_exposed_communication_and_gaps_of_nsight_systems(self):
        log = self.path("run.log", "".join(map(report, range(1, 12))).encode())
        self.database(kernels=self.steps(), copies=[(5_000_000_000, 5_002_500_000, 0, 1 << 24, 0)])
        answer = self.observe(self.folder.name, *MACHINE)
        self.assertTrue(pathlib.Path(log).exists())
        self.assertAlmostEqual(self.figure(answer, "compute_ratio")["measured"], 3 / 8, places=3)
        exposed = self.figure(answer, "exposed_communication_ratio")
        self.assertAlmostEqual(exposed["measured"], 4 / 8, places=3)
        self.assertGreater(exposed["forecast"], 0)
        self.assertAlmostEqual(self.figure(answer, "idle_ratio")["measured"], 1 / 8, places=3)
        self.assertAlmostEqual(answer["trace"]["exposed_by_path_us"]["expert_parallel"], 1e6)
        self.assertEqual((answer["trace"]["kernels"], answer["not_read"]), (3001, []))
        self.assertIn("is in communication and waiting for other ranks, by the trace", " ".join(answer["causes"]))

    def test_one_gpu_of_several_is_read(self):
        rows = self.steps(device=0, process=1 << 24, count=10) + self.steps(device=0, process=2 << 24, count=20)
        answer = self.observe(self.database(kernels=rows))
        self.assertEqual((answer["trace"]["kernels"], answer["not_read"]), (60, ["report.sqlite: 1 other GPU of the report"]))

    def test_graphs_as_a_whole_are_said(self):
        answer = self.observe(self.database(graphs=[(0, 1000, 0, 1, 0), (2000, 4000, 0, 1, 0)]))
        self.assertAlmostEqual(answer["trace"]["compute_us"], 3)
        self.assertIn("--cuda-graph-trace=node", answer["not_read"][0])

    def test_what_is_no_report(self):
        steps = self.steps(count=3)
        columns = "start INTEGER, \"end\" INTEGER, deviceId INTEGER, globalPid INTEGER, demangledName INTEGER"
        for name, path, why in [
                ("other", self.database("other.sqlite"), "without any kernel"),
                ("view", self.database("view.sqlite", extra="CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT 1 AS start"), "without any kernel"),
                ("columns", self.database("columns.sqlite", extra="CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (x)"), "not those of Nsight"),
                ("made", self.database("made.sqlite", extra=f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({columns.replace('start INTEGER', 'start AS (length(hex(zeroblob(100000000))))')}); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL DEFAULT VALUES"), "not read"),
                ("cut", self.path("cut.sqlite", pathlib.Path(self.database("whole.sqlite", kernels=steps)).read_bytes()[:5000]), "SQLite"),
                ("head", self.path("head.sqlite", b"SQLite format 3\0" + b"x" * 5000), "SQLite"),
                ("packed", self.path("whole.sqlite.gz", gzip.compress(pathlib.Path(self.path("whole.sqlite")).read_bytes())), "unpack it"),
                ("raw", self.path("run.nsys-rep", b"QDSTRM" * 100), "nsys export --type sqlite")]:
            answer = self.observe(path)
            self.assertNotIn("trace", answer, name)
            self.assertIn(why, " ".join(answer["not_read"]), name)
        answer = self.observe("-", stdin=pathlib.Path(self.path("whole.sqlite")).read_bytes())
        self.assertIn("unpack it, and name the file", answer["not_read"][0])

    def test_damaged_reports(self):
        whole = bytearray(pathlib.Path(self.database("whole.sqlite", kernels=self.steps(count=30))).read_bytes())
        rows = random.Random(3)
        for i in range(20):
            data = bytearray(whole)
            for _ in range(40):
                data[rows.randrange(100, len(data))] = rows.randrange(256)
            self.observe(self.path("damaged.sqlite", bytes(data)))

    def snapshot(self):
        """3 GiB of the model and its gradients, 4 of the optimizer; a step with 5 of forward and 2 of backward."""
        blocks, trace, at = [], [], 0x7f0000000000
        model, optimizer = frames("/m/core/distributed/param_and_grad_buffer.py", "__init__"), frames("/m/core/optimizer/optimizer.py", "__init__")
        forward = frames("/m/core/transformer/mlp.py", "forward")
        backward = frames("/m/core/tensor_parallel/random.py", "backward") + frames("/m/core/transformer/mlp.py", "forward")[1:]

        def event(action, address, size, stack):
            trace.append({"action": action, "addr": address, "size": size, "stream": 0, "time_us": 1700000000000000 + len(trace), "frames": stack})

        for size, stack in [(3 * GIB, model), (4 * GIB, optimizer)]:
            event("alloc", at, size, stack)
            blocks.append({"address": at, "size": size, "requested_size": size, "state": "active_allocated", "frames": stack})
            at += size
        taken = [(at + i * GIB, GIB, forward) for i in range(5)] + [(at + 6 * GIB, 2 * GIB, backward)]
        for _ in range(2):  # two steps, so that the peak is no sum of all
            for address, size, stack in taken:
                event("alloc", address, size, stack)
            for address, size, stack in taken:
                event("free_requested", address, size, stack)
                event("free_completed", address, size, stack)
        segments = [{"device": 0, "address": 0x7f0000000000, "total_size": 16 * GIB, "allocated_size": 7 * GIB, "active_size": 7 * GIB,
                     "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
                     "blocks": blocks + [{"address": at, "size": 9 * GIB, "requested_size": 0, "state": "inactive", "frames": []}]}]
        return {"segments": segments, "device_traces": [trace, []], "allocator_settings": {"max_split_size": -1, "garbage_collection_threshold": 0.5},
                "external_annotations": []}

    def test_memory_by_cause(self):
        for protocol in (2, 3, 4, 5):
            data = pickle.dumps(self.snapshot(), protocol=protocol)
            for name, written in (("snapshot_0.pickle", data), ("snapshot_0.pickle.gz", gzip.compress(data))):
                answer = self.observe(self.path(name, written), *MACHINE)
                causes = answer["snapshot"]["by_cause_bytes"]
                self.assertAlmostEqual(causes["parameters_and_gradients"], 3 * GIB)
                self.assertAlmostEqual(causes["optimizer_state"], 4 * GIB)
                self.assertAlmostEqual(causes["forward"], 5 * GIB)
                self.assertAlmostEqual(causes["backward"], 2 * GIB)
                self.assertEqual((answer["snapshot"]["allocated_bytes"], answer["snapshot"]["reserved_bytes"]), (7 * GIB, 16 * GIB))
                self.assertEqual([rank["rank"] for rank in answer["ranks"]], [0])
                optimizer = self.figure(answer, "optimizer_state_bytes")
                self.assertEqual((optimizer["measured"], optimizer["stage"]), (4 * GIB, 0))
                self.assertGreater(optimizer["forecast"], GIB)
                self.assertGreater(self.figure(answer, "parameter_and_gradient_bytes")["forecast"], GIB)
                self.assertAlmostEqual(self.figure(answer, "step_bytes")["measured"], 7 * GIB, delta=1024)
                self.assertTrue(self.figure(answer, "allocated_bytes")["measured"] >= 14 * GIB)

    def test_blocks_without_stacks_name_no_cause(self):
        snapshot = self.snapshot()
        snapshot["device_traces"] = [[], []]
        for block in snapshot["segments"][0]["blocks"]:
            block["frames"] = []
        answer = self.observe(self.path("snapshot_oom_rank_3.pickle", pickle.dumps(snapshot)), *MACHINE)
        self.assertEqual(answer["snapshot"]["by_cause_bytes"]["unknown"], 7 * GIB)
        self.assertNotIn("optimizer_state_bytes", [figure["name"] for figure in answer["figures"]])
        self.assertEqual([rank["rank"] for rank in answer["ranks"]], [3])

    def test_a_pickle_is_never_run(self):
        marker = self.path("made-by-the-pickle")

        class Runs:
            def __reduce__(self):
                return (os.system, (f"touch {marker}",))

        for protocol in (2, 4, 5):
            snapshot = self.snapshot()
            snapshot["external_annotations"] = [Runs()]
            answer = self.observe(self.path("snapshot_1.pickle", pickle.dumps(snapshot, protocol=protocol)))
            self.assertIn("it holds more than plain data", answer["not_read"][0])
            self.assertNotIn("snapshot", answer)
        self.assertFalse(os.path.exists(marker))

    def test_damaged_snapshots(self):
        whole = pickle.dumps(self.snapshot())
        rows = random.Random(9)
        for i in range(40):
            data = bytearray(whole[:rows.randrange(20, len(whole))] if i % 2 else whole)
            for _ in range(0 if i % 2 else 5):
                data[rows.randrange(12, len(data))] = rows.randrange(256)
            self.observe(self.path("snapshot_0.pickle", bytes(data)))


if __name__ == "__main__":
    unittest.main()
