"""Servers of tests and drills in Python; what server.sh is to those in shell."""
import atexit
import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request


def free_port():
    """For programs that have to be told one. It may be another's until they take it: a server of ours takes one itself."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def programs(bindir, *names):
    """Their paths. The program ends, and says why, where one is not there."""
    paths = [os.path.join(bindir, name) for name in names]
    for path in paths:
        if not os.access(path, os.X_OK) or os.path.isdir(path):
            sys.exit(f"{os.path.basename(sys.argv[0])}: {path} is missing, or no program: build it first")
    return paths


def memory_mib(process, field="VmRSS"):
    """What a process has in memory; VmHWM: the most that it has had."""
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    return int(re.search(rf"^{field}:\s*(\d+)", status, re.M).group(1)) / 1024


def peak_mib(process):
    return memory_mib(process, "VmHWM")


class Server:
    """`flightplan serve` on loopback, ready, with a folder of its own; both are gone with the test at the latest.

    `listen`: where it serves gRPC. `under`: a command that runs it. `scratch`: its folder, where the flags name what is in it.
    The log has to be of level info: it says which ports the system gave.
    """

    def __init__(self, flightplan, *flags, listen=("127.0.0.1:0",), under=(), scratch=None):
        self.scratch = scratch or tempfile.TemporaryDirectory(prefix="flightplan-test-")
        self.root = pathlib.Path(self.scratch.name)
        with open(self.root / "log", "wb") as log:
            self.process = subprocess.Popen([*under, flightplan, "serve", *(f"--listen={address}" for address in listen),
                                             "--http_listen=127.0.0.1:0", "--drain_delay=0s", *flags],
                                            stdout=subprocess.DEVNULL, stderr=log)
        atexit.register(self.process.kill)  # it holds our output: whoever reads that would wait for it
        serving = self.wait_for(self.serving)
        self.http, self.health, self.webhook, self.web = (serving[f"{name}_port"] for name in ("http", "health", "webhook", "web"))
        self.port = next((int(port) for port in re.findall(r"127\.0\.0\.1:(\d+)", serving["listen"])), None)
        self.wait_for(self.ready)

    def wait_for(self, what):
        """What it says, once that is something; a busy machine is no fault."""
        end = time.monotonic() + 120
        while True:
            said = what()
            if said:
                return said
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"the server does not get ready:\n{self.log()[-3000:]}")
            time.sleep(0.05)

    def log(self):
        return (self.root / "log").read_text(errors="replace")

    def serving(self):
        return next((json.loads(line) for line in self.log().split("\n")[:-1] if '"msg":"serving"' in line), None)

    def ready(self):
        with contextlib.suppress(OSError):
            return urllib.request.urlopen(f"http://127.0.0.1:{self.http}/readyz", timeout=5).status == 200
        return False

    def metric(self, name):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/metrics", timeout=10) as answer:
            return sum(float(value) for value in re.findall(rf"^{name} (\S+)$", answer.read().decode(), re.MULTILINE))

    def alive(self):
        return self.process.poll() is None

    def stop(self, seconds=60):
        """Its exit status."""
        self.process.terminate()
        return self.process.wait(seconds)

    def close(self):
        self.stop()
        self.scratch.cleanup()
