"""A server of its own for a drill, and a good caller beside what the drill does to it."""
import hashlib
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "../support"))
import serving  # noqa: E402


def tokens(folder, *tenants, roles="resolve"):
    """A file of tokens in that folder, of tenants who are called as their tokens are: the flag that names it."""
    rows = [f"  - {{sha256: {hashlib.sha256(name.encode()).hexdigest()}, tenant: {name}, roles: [{roles}], expires: 2126-01-01T00:00:00Z}}\n"
            for name in tenants]
    path = pathlib.Path(folder) / "tokens.yaml"
    path.write_text("tokens:\n" + "".join(rows))
    return f"--token_file={path}"


class Server(serving.Server):
    """One of BINDIR that ends soon."""

    def __init__(self, bindir, *flags, **options):
        flightplan, self.load_client = serving.programs(bindir, "flightplan", "load_client")
        super().__init__(flightplan, "--drain_timeout=1s", *flags, **options)

    def load(self, rate, seconds, *flags, port=None):
        """What a good caller gets: the fields of load_client's line."""
        done = subprocess.run([self.load_client, f"--target=127.0.0.1:{port or self.port}", f"--rate={rate}", f"--seconds={seconds}",
                               *flags], stdout=subprocess.PIPE, text=True)
        figures = {key: float(value) for key, value in re.findall(r"(\w+)=([\d.]+)", done.stdout)}
        if "total" not in figures:
            sys.exit(f"load_client ends with {done.returncode} and without figures")
        return figures
