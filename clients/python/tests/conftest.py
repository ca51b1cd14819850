"""A real server for the tests."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any, Iterator

import pytest

ROOT = Path(__file__).resolve().parents[3]
SMALL: dict[str, Any] = {"gpu": "h100-sxm", "gpus": 16, "tp": 1, "pp": 1, "ep": 8}
BINARY = Path(os.environ.get("FLIGHTPLAN_BINARY", ROOT / "build/release/bin/flightplan"))


@contextlib.contextmanager
def serving(folder: Path, *flags: str) -> Iterator[str]:
    """Address of a server with an evidence store in that folder."""
    log = folder / "log"
    command = [str(BINARY), "serve", "--listen=127.0.0.1:0", "--http_listen=", "--drain_delay=0s", *flags]
    command.append(f"--evidence_store=sqlite:{folder / 'evidence.db'}")
    with log.open("wb") as stderr, subprocess.Popen(command, stderr=stderr) as process:
        try:
            for _ in range(400):
                serving = re.search(r'"msg":"serving".*?"listen":"([^",]+)', log.read_text())
                if serving:
                    break
                assert process.poll() is None, log.read_text()
                time.sleep(0.05)
            else:
                pytest.fail(f"the server does not serve: {log.read_text()}")
            yield serving.group(1)
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server that serves as long as the tests run."""
    with serving(tmp_path_factory.mktemp("server")) as address:
        yield address


@pytest.fixture(autouse=True)
def _ask_it(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLIGHTPLAN_SERVER", server)


@pytest.fixture(params=["named", "own"])
def _servers(request: pytest.FixtureRequest, _ask_it: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server that is named (gRPC's library), and the process's own (h2)."""
    if request.param == "own":
        monkeypatch.delenv("FLIGHTPLAN_SERVER")
        monkeypatch.setenv("FLIGHTPLAN_BINARY", str(BINARY))
