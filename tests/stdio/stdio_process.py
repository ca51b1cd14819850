"""What the tests of mcp and lsp share: the program as a process, and the Python that has a protocol's own client."""
import os
import pathlib
import subprocess
import sys

ENVIRONMENT = {**os.environ, "LC_ALL": "C.UTF-8", "FLIGHTPLAN_PROFILE_DIR": "/nonexistent/flightplan"}
# Of the clients that deploy/setup_clients.sh stdio brings.
PYTHON = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "flightplan/clients/stdio/bin/python"


class StdioProcess:
    """One that speaks on its standard streams; end() leaves nothing of it."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=ENVIRONMENT)

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def end(self):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except BrokenPipeError:
                pass


def go_on_with_clients(*arguments):
    """Runs the calling script again where they are installed; where they are not, the test says so and ends."""
    if not PYTHON.exists():
        print("skipped: needs the protocol's client (deploy/setup_clients.sh stdio)")
        sys.exit(77)
    if pathlib.Path(sys.prefix) != PYTHON.parent.parent:
        os.execv(PYTHON, [str(PYTHON), os.path.abspath(sys.argv[0]), *arguments])
