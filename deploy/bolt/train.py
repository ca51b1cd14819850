#!/usr/bin/env python3
"""Asks a flightplan server what its users ask, so that a build that counts which code runs has something to count:
every model of the catalogue on several GPUs, each stack, each view of an answer, layouts given and left open, and the
launches of the answers judged, repaired and converted.
usage: train.py PROGRAM     starts and ends the server itself; prints how many questions were answered, and a digest of the answers"""
import contextlib
import hashlib
import itertools
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

START_S = 60
CALL_S = 120
# Questions whose layout is left open: searches, of which one counts as much as hundreds of answers.
SEARCHES = 8
ROUNDS = 6
GPUS = ("h100-sxm", "h200-sxm", "b200-sxm", "gb200-nvl72", "gb300-nvl72", "a100-sxm-80gb")
FRAMEWORKS = ("megatron-lm", "megatron-bridge", "loongforge", "slime", "ms-swift", "verl", "nemo-rl",
              "miles", "vime", "primus", "flagscale", "roll")
VIEWS = ("ANSWER_VIEW_FULL", "ANSWER_VIEW_BASIC", "ANSWER_VIEW_VERDICT")
PRECISIONS = ("bf16", "bf16", "fp8_cs", "mxfp8")
LAYOUTS = (
    {"tensorModelParallelSize": 2, "pipelineModelParallelSize": 8, "virtualPipelineModelParallelSize": 2, "expertModelParallelSize": 32},
    {"tensorModelParallelSize": 1, "pipelineModelParallelSize": 4, "virtualPipelineModelParallelSize": 1, "expertModelParallelSize": 8},
    {"tensorModelParallelSize": 4, "pipelineModelParallelSize": 2, "virtualPipelineModelParallelSize": 1, "expertModelParallelSize": 16},
    {"tensorModelParallelSize": 1, "pipelineModelParallelSize": 1, "expertModelParallelSize": 64},
    {"tensorModelParallelSize": 8, "pipelineModelParallelSize": 4, "virtualPipelineModelParallelSize": 4, "expertModelParallelSize": 1},
)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """flightplan serve on loopback, asked by JSON over HTTP."""

    def __init__(self, program, folder):
        self.program = program
        self.socket = f"unix:{folder}/grpc.sock"
        self.port = free_port()
        self.answered = 0
        self.digest = hashlib.sha256()
        self.process = subprocess.Popen(
            [program, "serve", "--listen", self.socket, "--http_listen", "", "--web_listen", f"127.0.0.1:{self.port}",
             "--evidence_store", "off", "--cache_bytes", "0", "--log_level", "error", "--drain_delay", "0s"])
        deadline = time.monotonic() + START_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit("train: the server does not start") from None
                time.sleep(0.1)

    def ask(self, method, body):
        """The answer; none where the question is refused."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/flightplan.v1.{method}", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=CALL_S) as response:
                answer = json.load(response)
                self.answered += 1
        except urllib.error.HTTPError as refused:
            answer = None
            self.count(json.load(refused)["message"])
        self.count(answer)
        return answer

    def count(self, answer):
        self.digest.update(json.dumps(answer, sort_keys=True).encode())  # maps come in any order

    def ask_at_terminal(self, *words):
        """By gRPC, as the same program's client."""
        done = subprocess.run([self.program, *words, "--server", self.socket], capture_output=True, timeout=CALL_S)
        if done.returncode not in (0, 1) or not done.stdout:
            raise SystemExit(f"train: {' '.join(words)} ends with {done.returncode}: {done.stderr.decode()[-300:]}")
        self.answered += 1
        self.digest.update(done.stdout)

    def stop(self):
        self.process.terminate()
        if self.process.wait(timeout=START_S) != 0:
            raise SystemExit("train: the server did not end well")


def questions(models):
    """Closed questions: each model ROUNDS times, each time with the next GPU, stack, precision, layout and batch."""
    gpus, frameworks, precisions, layouts = map(itertools.cycle, (GPUS, FRAMEWORKS, PRECISIONS, LAYOUTS))
    for number, model in itertools.product(range(ROUNDS), models):
        yield {"model": {"name": model}, "hardware": {"gpu": next(gpus), "gpuCount": 512 << number % 2},
               "workload": {"seqLength": 4096 << number % 2, "globalBatchSize": 2048 + 512 * number, "precision": next(precisions)},
               "target": {"framework": next(frameworks)}, "layout": next(layouts)}


def judge(server, question, answer):
    """The answer's launch as a scheduler hands it back: judged as it is, and repaired with a fault in it."""
    for launch in answer.get("launches", [])[:1]:
        config = {name: question[name] for name in ("target", "hardware")} | {"env": launch.get("env", {})}
        arguments = launch.get("argv", [])
        server.ask("ResolverService/ValidateConfig", config | {"arguments": {"values": arguments}})
        server.ask("ResolverService/ValidateConfig", config | {"arguments": {"values": arguments}, "view": "ANSWER_VIEW_VERDICT"})
        script = "torchrun pretrain_gpt.py \\\n  " + " \\\n  ".join(arguments) + "\n"
        damaged = script.replace("--expert-model-parallel-size", "--expert-model-parallel-sizes", 1)
        server.ask("ResolverService/ValidateConfig", config | {"file": {"text": damaged}, "repair": True})
        server.ask("ResolverService/ConvertConfig", {"target": question["target"], "file": {"text": script},
                                                     "to": {"framework": "megatron-lm"}})


def train(server):
    models = [model["name"] for model in server.ask("CatalogService/ListModels", {"pageSize": 1000})["models"]]
    for model in models[:: max(1, len(models) // SEARCHES)]:
        server.ask("ResolverService/ResolveConfig",
                   {"model": {"name": model}, "hardware": {"gpu": "h100-sxm", "gpuCount": 64}, "target": {"framework": "megatron-lm"}})
    for question in questions(models):
        for view in VIEWS:
            answer = server.ask("ResolverService/ResolveConfig", question | {"view": view})
            if answer is not None and view == VIEWS[0]:
                judge(server, question, answer)
    sizes = ("--model", "deepseek-v3", "--gpu", "h100-sxm", "--gpus", "256")
    server.ask_at_terminal("resolve", *sizes, "--tp", "2", "--pp", "8", "--vpp", "4", "--ep", "32")
    server.ask_at_terminal("plan", *sizes)
    server.ask_at_terminal("rules")
    server.ask_at_terminal("models")


def main():
    with tempfile.TemporaryDirectory() as folder:
        server = Server(str(pathlib.Path(sys.argv[1]).resolve()), folder)
        with contextlib.ExitStack() as stack:
            stack.callback(server.stop)
            train(server)
        print(f"{server.answered} questions answered, {server.digest.hexdigest()[:16]}")


main()
