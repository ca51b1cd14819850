"""A server of its own for a drill, and a good caller beside what the drill does to it."""
import atexit
import contextlib
import pathlib
import re
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent / "../doors"))
from webhook import free_port  # noqa: E402


class Server:
    """Started on loopback and ready; ended with the drill."""

    def __init__(self, bindir, *flags):
        self.bindir = bindir
        self.port, self.http = free_port(), free_port()
        self.process = subprocess.Popen([f"{bindir}/flightplan", "serve", f"--listen=127.0.0.1:{self.port}", "--log_level=error",
                                         f"--http_listen=127.0.0.1:{self.http}", "--drain_delay=0s", "--drain_timeout=1s", *flags],
                                        stderr=subprocess.DEVNULL)
        atexit.register(self.process.kill)
        for _ in range(200):
            if self.ready():
                return
            time.sleep(0.1)
        raise SystemExit("the server does not get ready")

    def ready(self):
        with contextlib.suppress(OSError):
            return urllib.request.urlopen(f"http://127.0.0.1:{self.http}/readyz", timeout=5).status == 200
        return False

    def metric(self, name):
        text = urllib.request.urlopen(f"http://127.0.0.1:{self.http}/metrics", timeout=10).read().decode()
        return sum(float(value) for value in re.findall(rf"^{name} (\S+)$", text, re.MULTILINE))

    def stop(self):
        """Its exit status."""
        self.process.terminate()
        return self.process.wait(30)

    def load(self, rate, seconds, *flags):
        """What a good caller gets: the fields of load_client's line."""
        out = subprocess.run([f"{self.bindir}/load_client", f"--target=127.0.0.1:{self.port}", f"--rate={rate}",
                              f"--seconds={seconds}", *flags], capture_output=True, text=True).stdout
        return {key: float(value) for key, value in re.findall(r"(\w+)=([\d.]+)", out)}
