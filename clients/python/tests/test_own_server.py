"""The server that a process runs for itself where it names none. Each case is a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Iterator

import grpc
import pytest
from conftest import BINARY, ROOT

import flightplan
from flightplan import _own_server
from flightplan.integrations._gate import judge

SOURCES = Path(flightplan.__file__).parents[1]

# What the scripts share: a question, and the server's process id.
PRELUDE = """
import asyncio, os, signal, subprocess, sys, threading, time
import flightplan
from flightplan import _own_server

def ask(server=None):
    assert flightplan.resolve("qwen3-30b-a3b", gpu="h100-sxm", gpus=16, tp=1, pp=1, ep=8, server=server).ok

def server_pid():
    return _own_server._this_process._running._process.pid

def say(*words):
    print(*words, flush=True)
"""


@pytest.fixture
def around(tmp_path: Path) -> dict[str, str]:
    """An environment that names no server, with a temporary folder of its own."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    variables = {name: value for name, value in os.environ.items() if not name.startswith("FLIGHTPLAN_")}
    return {**variables, "PYTHONPATH": str(SOURCES), "FLIGHTPLAN_BINARY": str(BINARY), "TMPDIR": str(folder)}


@pytest.fixture
def no_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[pytest.MonkeyPatch]:
    """This process names no server, and what it started is gone afterwards."""
    monkeypatch.delenv("FLIGHTPLAN_SERVER")
    monkeypatch.setenv("FLIGHTPLAN_BINARY", str(BINARY))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    _own_server._this_process.stop()
    yield monkeypatch
    _own_server._this_process.stop()


def start(script: str, around: dict[str, str], **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + script], env=around, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        stdin=subprocess.PIPE, text=True, **more,
    )  # fmt: skip


def run(script: str, around: dict[str, str]) -> list[str]:
    """The words that a script says; it must end well."""
    process = start(script, around)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.split()


def runs(pid: int) -> bool:
    """Whether a process is there and no zombie, which an init of a container may never collect."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(what: str, condition: Any) -> None:
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail(what)


def left(around: dict[str, str]) -> list[Path]:
    return list(Path(around["TMPDIR"]).glob("flightplan-*"))


def test_one_server_for_all_clients_of_a_process(around: dict[str, str]) -> None:
    said = run(
        """
threads = [threading.Thread(target=ask) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
say(server_pid())
with flightplan.Client() as client:
    say(client.server == _own_server.address(), oct(os.stat(os.path.dirname(client.server[5:])).st_mode & 0o777))
async def later():
    async with flightplan.AsyncClient() as client:
        await client.resolve("qwen3-30b-a3b", "h100-sxm", 16, tp=1, pp=1, ep=8)
asyncio.run(later())
say(server_pid(), len(os.listdir(os.environ["TMPDIR"])))
""",
        around,
    )
    assert said[1:3] == ["True", "0o700"]
    assert said[3:] == [said[0], "1"]
    assert left(around) == []


def test_a_server_that_is_named_is_asked(around: dict[str, str], server: str) -> None:
    assert run(f"ask({server!r}); say(_own_server._this_process._running)", around) == ["None"]
    assert run("ask(); say(_own_server._this_process._running)", {**around, "FLIGHTPLAN_SERVER": server}) == ["None"]


@pytest.mark.parametrize(
    "ending",
    [
        "pass",
        "raise RuntimeError",
        "sys.exit(3)",
        "os._exit(3)",
        "os.kill(os.getpid(), signal.SIGKILL)",
        "os.kill(os.getpid(), signal.SIGTERM)",
        "os.execv('/bin/true', ['true'])",
    ],
)
def test_it_ends_with_its_process(ending: str, around: dict[str, str]) -> None:
    process = start(
        f"""
ask()
# Neither another program nor a forked process keeps it.
nothing = subprocess.DEVNULL
other = subprocess.Popen(["sleep", "300"], stdin=nothing, stdout=nothing, stderr=nothing)
forked = os.fork()
if forked == 0:
    os.close(1); os.close(2); time.sleep(300); os._exit(0)
say(server_pid(), other.pid, forked)
sys.stdin.readline()
{ending}
""",
        around,
    )
    assert process.stdout is not None
    pid, *others = (int(word) for word in process.stdout.readline().split())
    try:
        assert runs(pid)
        process.communicate("\n", timeout=60)
        wait_for("the server outlives its process", lambda: not runs(pid))
        wait_for("its folder is left", lambda: left(around) == [])
        assert all(runs(other) for other in others)
    finally:
        for other in others:
            os.kill(other, signal.SIGKILL)


def test_a_forked_process_starts_its_own_and_leaves_the_parents(around: dict[str, str]) -> None:
    said = run(
        """
ask()
say(server_pid())
for ending in (lambda: sys.exit(0), lambda: os._exit(0)):
    if os.fork() == 0:
        ask()
        say(server_pid())
        ending()
    assert os.wait()[1] == 0
ask()
say(server_pid())
""",
        around,
    )
    parent, first, second, again = said
    assert parent == again
    assert len({parent, first, second}) == 3
    wait_for("a folder is left", lambda: left(around) == [])


def test_a_client_from_before_the_fork(around: dict[str, str], server: str) -> None:
    said = run(
        f"""
own, named = flightplan.Client(), flightplan.Client({server!r})
async def later():
    return flightplan.AsyncClient()
of_asyncio = asyncio.run(later())
say(server_pid())
if os.fork() == 0:
    own.resolve("qwen3-30b-a3b", "h100-sxm", 16, tp=1, pp=1, ep=8)
    say(server_pid())
    for call in (lambda: named.resolve("qwen3-30b-a3b", "h100-sxm", 16), lambda: list(named.batch([])),
                 lambda: named.plan_layouts("qwen3-30b-a3b", "h100-sxm", 16),
                 lambda: asyncio.run(of_asyncio.resolve("qwen3-30b-a3b", "h100-sxm", 16))):
        try:
            call()
        except flightplan.FlightplanError as error:
            say("before_os.fork()" in str(error).replace(" ", "_"))
    os._exit(0)
os.wait()
for client in (own, named):
    client.resolve("qwen3-30b-a3b", "h100-sxm", 16, tp=1, pp=1, ep=8)
""",
        around,
    )
    assert said[0] != said[1]
    assert said[2:] == ["True"] * 4


def test_a_process_that_asked_may_fork(around: dict[str, str]) -> None:
    """No thread is left, and so no lock that somebody holds."""
    (threads,) = run(
        """
ask()
client = flightplan.Client()
client.plan_layouts("qwen3-30b-a3b", "h100-sxm", 16, count=1)
client.rule("recompute.full-needs-method")
say(len(os.listdir("/proc/self/task")))
""",
        around,
    )
    assert threads == "1"


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_multiprocessing(method: str, around: dict[str, str], tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        PRELUDE
        + f"""
def work(_):
    ask()
    return server_pid()

if __name__ == "__main__":
    import multiprocessing
    ask()
    with multiprocessing.get_context({method!r}).Pool(2) as pool:
        pids = set(pool.map(work, range(8), chunksize=1))
    assert 1 <= len(pids) <= 2 and server_pid() not in pids
    ask()
"""
    )
    done = subprocess.run([sys.executable, str(script)], env=around, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    wait_for("a folder is left", lambda: left(around) == [])


def test_one_that_was_killed_is_replaced(around: dict[str, str]) -> None:
    killed, after = run(
        """
ask()
say(server_pid())
os.kill(server_pid(), signal.SIGKILL)
while _own_server._this_process._running._process.poll() is None: time.sleep(0.01)
ask()
say(server_pid())
""",
        around,
    )
    assert killed != after
    assert left(around) == []


def test_one_that_is_killed_while_it_answers(around: dict[str, str]) -> None:
    said = run(
        """
client = flightplan.Client()
try:
    client.plan_layouts("deepseek-v3", "h100-sxm", 1024, progress=lambda _: os.kill(server_pid(), signal.SIGKILL))
except flightplan.Unavailable as error:
    say("ended_meanwhile" in str(error).replace(" ", "_"))
while _own_server._this_process._running._process.poll() is None: time.sleep(0.01)
say(client.resolve("qwen3-30b-a3b", "h100-sxm", 16, tp=1, pp=1, ep=8).ok)
""",
        around,
    )
    assert said == ["True", "True"]


def test_ctrl_c_is_not_for_it(around: dict[str, str]) -> None:
    process = start(
        """
ask()
before = server_pid()
try:
    say("ready")
    time.sleep(300)
except KeyboardInterrupt:
    ask()
    say(server_pid() == before)
""",
        around,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (out, process.returncode) == ("True\n", 0), err


def test_it_listens_on_no_port(no_server: pytest.MonkeyPatch) -> None:
    _own_server.address()
    running = _own_server._this_process._running
    assert running is not None
    assert running._process is not None
    pid = running._process.pid
    opened = set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            opened.add(os.readlink(file))
    sockets = {match.group(1) for name in opened if (match := re.match(r"socket:\[(\d+)\]", name))}
    for table in ("tcp", "tcp6", "udp", "udp6"):
        rows = Path(f"/proc/{pid}/net/{table}")
        if rows.exists():
            assert not sockets & {row.split()[9] for row in rows.read_text().splitlines()[1:]}


@pytest.mark.parametrize("name", ["x" * 120, "a folder", "100%25"])
def test_a_temporary_folder_that_no_address_can_hold(name: str, around: dict[str, str]) -> None:
    folder = Path(around["TMPDIR"]) / name
    folder.mkdir()
    assert run("ask(); say(_own_server.address())", {**around, "TMPDIR": str(folder)})[0].startswith("unix:/tmp/")


def test_settings_of_other_servers_do_not_hold_but_the_sites_models_do(around: dict[str, str], tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    entries = re.split(r"(?m)^  - name: ", (ROOT / "resolver/catalog/models.yaml").read_text())
    (entry,) = (text for text in entries if text.startswith("qwen3-30b-a3b\n"))
    (site / "models.yaml").write_text("models:\n  - name: " + entry.replace("qwen3-30b-a3b", "our-own-model"))
    around.update(FLIGHTPLAN_LISTEN="0.0.0.0:1", FLIGHTPLAN_TOKEN_FILE="/nonexistent", FLIGHTPLAN_CATALOG_DIR=str(site))
    run('ask(); assert "our-own-model" in [model.name for model in flightplan.Client().models()]', around)
    (site / "models.yaml").write_text("models: {}\n")
    with pytest.raises(AssertionError, match=r"did not start: .*models.yaml:1:"):
        run("ask()", around)


def program(folder: Path, text: str | bytes) -> str:
    file = folder / "program"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    file.chmod(0o755)
    return str(file)


def refusal() -> str:
    """Why no server can be started, in one sentence."""
    with pytest.raises(flightplan.ServerNotStarted) as caught:
        flightplan.resolve("qwen3-30b-a3b", gpu="h100-sxm", gpus=16)
    text = str(caught.value)
    assert len(text.splitlines()) == 1
    return text


def test_no_program(no_server: pytest.MonkeyPatch, tmp_path: Path) -> None:
    no_server.setenv("FLIGHTPLAN_BINARY", str(tmp_path / "missing"))
    assert re.search("no file .*missing, which FLIGHTPLAN_BINARY names", refusal())
    no_server.delenv("FLIGHTPLAN_BINARY")
    no_server.setattr(_own_server, "_packaged", lambda: iter([tmp_path / "bin" / "flightplan"]))
    no_server.setenv("PATH", str(tmp_path))
    assert re.search("install the flightplan wheel .* FLIGHTPLAN_BINARY, or start a server", refusal())
    # A distribution's package brings the program alone.
    os.symlink(BINARY, tmp_path / "flightplan")
    assert flightplan.resolve("qwen3-30b-a3b", gpu="h100-sxm", gpus=16, tp=1, pp=1, ep=8).ok


def test_a_program_of_another_machine(no_server: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHI", 2, 0x1234, 1) + bytes(200)
    no_server.setenv("FLIGHTPLAN_BINARY", program(tmp_path, other))
    assert f"is no program for this machine ({os.uname().machine}); install" in refusal()
    (tmp_path / "program").chmod(0o644)
    assert "cannot be run (Permission denied)" in refusal()
    assert list(tmp_path.glob("flightplan-*")) == []


def test_a_program_that_does_not_serve(no_server: pytest.MonkeyPatch, tmp_path: Path) -> None:
    no_server.setenv(
        "FLIGHTPLAN_BINARY", program(tmp_path, "#!/bin/sh\necho one >&2; echo 'no memory left' >&2; exit 1")
    )
    assert refusal().endswith("did not start: no memory left")
    program(tmp_path, "#!/bin/sh\nexit 3")
    assert "ended with exit code 3 and said nothing" in refusal()
    program(tmp_path, "#!/bin/sh\nkill -SEGV $$")
    assert "ended with signal 11 and said nothing" in refusal()
    no_server.setattr(_own_server, "_START_SECONDS", 0.2)
    no_server.setattr(_own_server, "_STOP_SECONDS", 0.2)
    program(tmp_path, "#!/bin/sh\nexec sleep 300")
    assert "did not listen within" in refusal()
    assert list(tmp_path.glob("flightplan-*")) == []


def test_no_room_for_the_socket(no_server: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(**_: Any) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    said = re.compile(f"{tmp_path} has no room for the socket .*No space left on device.* TMPDIR")
    # The folder could be made, the socket not.
    no_server.setenv("FLIGHTPLAN_BINARY", program(tmp_path, "#!/bin/sh\necho cannot listen >&2; exit 1"))
    no_server.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=9, f_files=9, f_favail=0))
    assert said.search(refusal())
    no_server.setattr(tempfile, "mkdtemp", full)
    assert said.search(refusal())


def test_launchers_go_on_without_it(no_server: pytest.MonkeyPatch, tmp_path: Path) -> None:
    no_server.setenv("FLIGHTPLAN_BINARY", str(tmp_path / "missing"))
    settings: dict[str, Any] = {"mode": "enforce", "target": "megatron-lm", "gpu": None, "gpus": 8, "server": None}
    assert judge(["--num-layers", "24"], **settings) is None
    with pytest.raises(flightplan.ServerNotStarted):
        judge(["--num-layers", "24"], fail_closed=True, **settings)


def test_credentials_need_a_server(no_server: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="credentials need a server"):
        flightplan.Client(credentials=grpc.ssl_channel_credentials())

    async def later() -> None:
        flightplan.AsyncClient(credentials=grpc.ssl_channel_credentials())

    with pytest.raises(ValueError, match="credentials need a server"):
        asyncio.run(later())
