"""The server that a process runs for itself where it names none: the wheel's binary on a private unix socket.

One for each process, started by the first client that needs it. It stops when its standard input ends, and the only
other end of that pipe is held by this process, so it does not outlive it, however this process ends.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import importlib.metadata
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Iterator, cast

from flightplan.errors import ServerNotStarted

BINARY_VARIABLE = "FLIGHTPLAN_BINARY"

_START_SECONDS = 30.0  # it takes a tenth of a second; a machine that starts a thousand at once takes longer
_STOP_SECONDS = 5.0
_MAX_SOCKET_PATH = 107  # bytes in sockaddr_un.sun_path, less the zero at its end
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._~+-]+")  # others mean something else in an address "unix:PATH"
_SOCKET_NAME = "s"
# Settings of other servers do not hold for this one, but a site's own models do.
_KEPT_VARIABLES = ("FLIGHTPLAN_CATALOG_DIR",)


def address() -> str:
    """The address of this process's own server, which is started where it does not run.

    May be called from any thread; blocks until the server listens.

    Raises:
        ServerNotStarted: It cannot be started. The message says why and what to do.
    """
    return _this_process.address()


class _OwnServer:
    """At most one running server, and the lock under which it starts and stops."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._running: _Running | None = None
        atexit.register(self.stop)
        # While it starts nothing forks: the child would hold an end of the pipe that nobody in it knows.
        os.register_at_fork(
            before=lambda: self._lock.acquire(),
            after_in_parent=lambda: self._lock.release(),
            after_in_child=self._forget,
        )

    def address(self) -> str:
        with self._lock:
            if self._running is None or self._running.ended():
                self._stop()
                self._running = _Running()
            return self._running.address

    def stop(self) -> None:
        with self._lock:
            self._stop()

    def _forget(self) -> None:
        """After os.fork, in the child: the server belongs to the parent."""
        self._lock = threading.RLock()
        if self._running is not None:
            self._running.forget()
            self._running = None

    def _stop(self) -> None:
        if self._running is not None:
            self._running.stop()
            self._running = None


class _Running:
    """A server process. The constructor returns when it listens."""

    def __init__(self) -> None:
        binary = find_binary()
        self._folder = _make_folder()
        self.address = f"unix:{self._folder}/{_SOCKET_NAME}"
        # In memory, so that nothing has to be read while the server runs and a full disk changes nothing.
        self._stderr = os.fdopen(os.memfd_create("flightplan-stderr"), "rb")
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = _start(binary, self.address, self._stderr)
            self._wait_until_it_listens(binary)
        except BaseException:
            self.stop()
            raise

    def ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def stop(self) -> None:
        """Ends the server and removes what it had."""
        if self._process is not None:
            cast(IO[bytes], self._process.stdin).close()
            try:
                self._process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._stderr.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def forget(self) -> None:
        """Lets go of the server without stopping it."""
        if self._process is not None:
            # The server would otherwise run until the last forked process ends.
            cast(IO[bytes], self._process.stdin).close()
            self._process.returncode = 0  # not this process's child: nothing to wait for
        self._stderr.close()

    def _wait_until_it_listens(self, binary: Path) -> None:
        end = time.monotonic() + _START_SECONDS
        while not _listens(self.address[len("unix:") :]):
            if self.ended():
                if _is_full(self._folder):
                    raise _no_room(os.path.dirname(self._folder), OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
                raise ServerNotStarted(f"flightplan's own server ({binary}) did not start: {self._last_words()}")
            if time.monotonic() > end:
                raise ServerNotStarted(
                    f"flightplan's own server ({binary}) did not listen within {_START_SECONDS:.0f} s; try again on a "
                    "machine with less load, or name a running server in FLIGHTPLAN_SERVER"
                )
            time.sleep(0.002)

    def _last_words(self) -> str:
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").split("\n")
        written = [line.strip() for line in lines if line.strip()]
        if written:
            return written[-1]
        code = cast("subprocess.Popen[bytes]", self._process).returncode
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"it ended with {how} and said nothing; `flightplan version` in a shell may say more"


def _start(binary: Path, address: str, stderr: IO[bytes]) -> subprocess.Popen[bytes]:
    command = [
        str(binary), "serve", "--stop_with_stdin", f"--listen={address}", "--http_listen=", "--evidence_store=off",
        "--drain_delay=0s", "--drain_timeout=0s", "--log_level=error", f"--profile_dir={_profile_folder()}",
    ]  # fmt: skip
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("FLIGHTPLAN_") or name in _KEPT_VARIABLES}  # fmt: skip
    try:
        # A session of its own: Ctrl-C is for this process alone.
        return subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=stderr, env=kept, start_new_session=True
        )
    except OSError as error:
        if error.errno == errno.ENOEXEC:
            raise ServerNotStarted(
                f"{binary} is no program for this machine ({os.uname().machine}); install the flightplan wheel for "
                f"{os.uname().machine}, or name a running server in FLIGHTPLAN_SERVER"
            ) from error
        raise ServerNotStarted(
            f"{binary} cannot be run ({error.strerror}); reinstall the flightplan wheel if that stays so, or name a "
            "running server in FLIGHTPLAN_SERVER"
        ) from error


def _profile_folder() -> str:
    """Where `flightplan probe` keeps profiles of this machine's GPUs, so that the answers are those of the terminal."""
    named = os.environ.get("FLIGHTPLAN_PROFILE_DIR")
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return named or f"{data}/flightplan/profiles"


def _make_folder() -> str:
    """A new folder that only this user can enter, with a path that a socket's address can hold."""
    parent = tempfile.gettempdir()
    if _socket_path_bytes(parent) > _MAX_SOCKET_PATH or not _PLAIN_PATH.fullmatch(parent):
        parent = "/tmp"  # noqa: S108
    try:
        return tempfile.mkdtemp(prefix="flightplan-", dir=parent)
    except OSError as error:
        raise _no_room(parent, error) from error


def _no_room(parent: str, error: OSError) -> ServerNotStarted:
    return ServerNotStarted(
        f"{parent} has no room for the socket of flightplan's own server ({error.strerror}); make room there, name "
        "another folder in TMPDIR, or name a running server in FLIGHTPLAN_SERVER"
    )


def _is_full(folder: str) -> bool:
    state = os.statvfs(folder)
    return state.f_bavail == 0 or (state.f_files > 0 and state.f_favail == 0)


def _socket_path_bytes(parent: str) -> int:
    return len(os.fsencode(f"{parent}/flightplan-12345678/{_SOCKET_NAME}"))


def _listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        return connection.connect_ex(path) == 0


def find_binary() -> Path:
    """The flightplan program: $FLIGHTPLAN_BINARY, the one that came with this package, or that of the PATH.

    Raises:
        ServerNotStarted: There is none.
    """
    named = os.environ.get(BINARY_VARIABLE)
    if named:
        if os.path.isfile(named):
            return Path(named)
        raise ServerNotStarted(f"there is no file {named}, which {BINARY_VARIABLE} names; correct or unset it")
    for candidate in _packaged():
        if candidate.is_file():
            return candidate
    on_path = shutil.which("flightplan")
    if on_path:
        return Path(on_path)
    raise ServerNotStarted(
        "the flightplan program is not installed with this package (it was installed from source); install the "
        f"flightplan wheel for {os.uname().machine}, name the program in {BINARY_VARIABLE}, or start a server and name "
        "it in FLIGHTPLAN_SERVER"
    )


def _packaged() -> Iterator[Path]:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        for file in importlib.metadata.distribution("flightplan").files or ():
            if file.name == "flightplan":
                yield Path(str(file.locate()))
    # `pip install --target` moves the program, and leaves the list of files as it was.
    yield Path(__file__).parent.parent / "bin" / "flightplan"


_this_process = _OwnServer()
