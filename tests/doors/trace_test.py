#!/usr/bin/env python3
"""`flightplan timeline --format trace` is what readers of the Trace Event Format take (Perfetto, chrome://tracing): read here
by a reader of its own, by the fields that the format documents, for every schedule; and what it would not take is noticed.

usage: trace_test.py FLIGHTPLAN_BINARY
"""
import copy
import json
import os
import subprocess
import sys
import unittest
from collections import defaultdict

FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))
QUESTIONS = {
    "no pipeline": "--model qwen3-30b-a3b --gpus 16 --tp 1 --pp 1 --ep 8 --gbs 128",
    "1F1B": "--model qwen3-30b-a3b --gpus 32 --tp 1 --pp 4 --ep 8 --gbs 256",
    "interleaved": "--model qwen3-30b-a3b --gpus 32 --tp 1 --pp 4 --vpp 2 --ep 8 --gbs 256",
    "EP overlap": "--model qwen3-30b-a3b --gpus 32 --tp 1 --pp 4 --vpp 2 --ep 8 --gbs 256 --set overlap_moe_expert_parallel_comm=true",
    "full recompute": "--model deepseek-v3 --gpus 512 --tp 1 --pp 16 --ep 32 --gbs 2048 --set recompute_granularity=full"
                      " --set recompute_method=uniform --set recompute_num_layers=1",
}
# Keys of an event by its phase; what the format has beside them is in OPTIONAL.
REQUIRED = {"X": {"name", "cat", "ph", "ts", "dur", "pid", "tid"}, "M": {"name", "ph", "pid", "tid", "args"}}
OPTIONAL = {"X": {"args", "tts", "tdur", "cname"}, "M": {"cat", "ts"}}
METADATA = {"process_name": ("name", str), "thread_name": ("name", str), "process_sort_index": ("sort_index", int),
            "thread_sort_index": ("sort_index", int), "process_labels": ("labels", str)}
TOP = {"traceEvents", "displayTimeUnit", "otherData"}


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def event_faults(at, event):
    phase = event.get("ph")
    if phase not in REQUIRED:
        return [f"event {at}: phase {phase!r}"]
    faults = [f"event {at}: no {key}" for key in sorted(REQUIRED[phase] - event.keys())]
    faults += [f"event {at}: {key} is no key of {phase}" for key in sorted(event.keys() - REQUIRED[phase] - OPTIONAL[phase])]
    faults += [f"event {at}: {key} {event.get(key)!r} is no integer" for key in ("pid", "tid")
               if not isinstance(event.get(key), int) or isinstance(event.get(key), bool) or event[key] < 0]
    if not isinstance(event.get("name"), str) or not event["name"]:
        faults.append(f"event {at}: has no name")
    if phase == "M" and not faults:
        key, kind = METADATA.get(event["name"], (None, None))
        if key is None or set(event["args"]) != {key} or type(event["args"][key]) is not kind:
            faults.append(f"event {at}: metadata {event['name']} {event['args']}")
    if phase == "X":
        faults += [f"event {at}: {key} {event.get(key)!r}" for key in ("ts", "dur") if not is_number(event.get(key)) or event[key] < 0]
        if not isinstance(event.get("args", {}), dict):
            faults.append(f"event {at}: args are no object")
    return faults


def track_faults(events):
    """Slices of one thread nest or follow each other; each thread and process with slices has one name."""
    tracks, names = defaultdict(list), defaultdict(int)
    for event in events:
        if event["ph"] == "X":
            # In whole nanoseconds, as Perfetto takes them.
            tracks[event["pid"], event["tid"]].append((round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000), event["name"]))
        elif event["name"] == "thread_name":
            names[event["pid"], event["tid"]] += 1
        elif event["name"] == "process_name":
            names[event["pid"]] += 1
    faults = [f"{track}: {names[track]} names" for track in tracks if names[track] != 1]
    faults += [f"process {pid}: {names[pid]} names" for pid in {pid for pid, _ in tracks} if names[pid] != 1]
    for track, slices in tracks.items():
        stack = []
        for start, end, name in sorted(slices, key=lambda one: (one[0], -one[1])):
            while stack and stack[-1][0] <= start:
                stack.pop()
            if stack and end > stack[-1][0]:
                faults.append(f"{track}: {name} at {start} ns ends after {stack[-1][1]}, in which it begins")
            stack.append((end, name))
    return faults


def faults_of(text):
    try:
        trace = json.loads(text, parse_constant=lambda word: (_ for _ in ()).throw(ValueError(word)))
    except ValueError as fault:
        return [f"no JSON: {fault}"]
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        return ["no object with traceEvents"]
    faults = [f"{key} is no key of the format" for key in sorted(trace.keys() - TOP)]
    if trace.get("displayTimeUnit") not in ("ms", "ns"):
        faults.append(f"displayTimeUnit {trace.get('displayTimeUnit')!r}")
    for at, event in enumerate(trace["traceEvents"]):
        faults += event_faults(at, event) if isinstance(event, dict) else [f"event {at}: no object"]
    return faults or track_faults(trace["traceEvents"])


def ask(question, *more):
    return subprocess.run([FLIGHTPLAN, "timeline", "--gpu", "h100-sxm", *question.split(), "--format", "trace", *more],
                          capture_output=True, text=True, encoding="utf-8", check=False)


class Trace(unittest.TestCase):
    def test_every_schedule(self):
        for name, question in QUESTIONS.items():
            with self.subTest(name):
                done = ask(question)
                self.assertIn(done.returncode, (0, 1), done.stderr)
                self.assertEqual(faults_of(done.stdout), [])
                events = json.loads(done.stdout)["traceEvents"]
                self.assertGreater(sum(event["ph"] == "X" for event in events), 20)

    def test_every_rank_ends_with_the_step(self):
        trace = json.loads(ask(QUESTIONS["EP overlap"], "--zoom", "step").stdout)
        step = float(trace["otherData"]["step_time_us"])
        ends = defaultdict(float)
        for event in trace["traceEvents"]:
            if event["ph"] == "X":
                ends[event["pid"]] = max(ends[event["pid"]], event["ts"] + event["dur"])
        self.assertEqual(len(ends), 4)
        for end in ends.values():
            self.assertAlmostEqual(end, step, delta=0.01)

    def test_what_it_would_notice(self):
        trace = json.loads(ask(QUESTIONS["1F1B"]).stdout)
        slices = [at for at, event in enumerate(trace["traceEvents"]) if event["ph"] == "X"]
        first = slices[0]
        after = next(at for at in slices[1:] if all(trace["traceEvents"][at][key] == trace["traceEvents"][first][key] for key in ("pid", "tid")))

        def fault(change):
            broken = copy.deepcopy(trace)
            change(broken["traceEvents"])
            return faults_of(json.dumps(broken))

        faults = [
            lambda events: events[first].update(ts="0.5us"),
            lambda events: events[first].update(dur=-1),
            lambda events: events[first].update(pid=1.5),
            lambda events: events[first].pop("dur"),
            lambda events: events[first].update(ph="B"),
            lambda events: events[first].update(name=""),
            lambda events: events[first].update(duration=1),
            lambda events: events[first].update(dur=events[after]["ts"] - events[first]["ts"] + events[after]["dur"] / 2),
            lambda events: events.remove(next(event for event in events if event["name"] == "thread_name")),
            lambda events: events.append(next(event for event in events if event["name"] == "process_name")),
        ]
        for change in faults:
            self.assertNotEqual(fault(change), [])
        self.assertNotEqual(faults_of(json.dumps(trace).replace('"dur": ', '"dur": NaN, "x": ', 1)), [])
        self.assertNotEqual(faults_of(json.dumps(trace)[:-2]), [])


if __name__ == "__main__":
    unittest.main()
