"""A real server for the tests."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path
from typing import Iterator

import pytest

ROOT = Path(__file__).resolve().parents[3]
BINARY = Path(os.environ.get("FLIGHTPLAN_BINARY", ROOT / "build/release/bin/flightplan"))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server that serves as long as the tests run."""
    log = tmp_path_factory.mktemp("server") / "log"
    command = [str(BINARY), "serve", "--listen=127.0.0.1:0", "--http_listen=", "--drain_delay=0s"]
    command.append(f"--evidence_store=sqlite:{log.parent / 'evidence.db'}")
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


@pytest.fixture(autouse=True)
def _ask_it(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLIGHTPLAN_SERVER", server)
