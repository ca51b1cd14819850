"""How a channel is made: its options, tokens in plain text, proxies, TLS as the environment says."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import subprocess
from pathlib import Path
from typing import Any, Callable

import grpc
import pytest
from conftest import serving

import flightplan
from flightplan import _plaintext_token
from flightplan.client import channel_options
from flightplan.v1 import catalog_service_pb2, resolver_service_pb2

SHARED_CONFIG = Path(__file__).resolve().parents[2] / "service_config.json"
LOCAL_ADDRESSES = SHARED_CONFIG.with_name("local_addresses.tsv")
SMALL: dict[str, Any] = {"gpu": "h100-sxm", "gpus": 16, "tp": 1, "pp": 1, "ep": 8}


def test_the_service_config_is_the_shared_one() -> None:
    packaged = json.loads(dict(channel_options())["grpc.service_config"])
    assert packaged == json.loads(SHARED_CONFIG.read_text())


def test_local_addresses() -> None:
    rows = [line.split("\t") for line in LOCAL_ADDRESSES.read_text().splitlines() if not line.startswith("#")]
    assert len(rows) > 30
    for expected, address in rows:
        assert _plaintext_token.is_local(address) == (expected == "yes"), address


@pytest.mark.parametrize("kind", [flightplan.Client, flightplan.AsyncClient])
def test_token_is_not_sent_to_another_machine_in_plain_text(
    kind: type[flightplan.Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def make(server: str, token: str | None, credentials: grpc.ChannelCredentials | None = None) -> None:
        client = kind(server, token=token, credentials=credentials)
        close: Callable[[], Any] = client.close
        closed = close()
        if asyncio.iscoroutine(closed):
            await closed

    elsewhere = "192.0.2.1:1"
    with pytest.raises(ValueError, match="FLIGHTPLAN_ALLOW_PLAINTEXT_TOKEN"):
        asyncio.run(make(elsewhere, "s3cret"))
    asyncio.run(make(elsewhere, None))
    asyncio.run(make(elsewhere, "s3cret", grpc.ssl_channel_credentials()))
    asyncio.run(make("127.0.0.1:1", "s3cret"))
    monkeypatch.setenv("FLIGHTPLAN_TOKEN", "s3cret")
    with pytest.raises(ValueError, match="192.0.2.1:1 in plain text"):
        asyncio.run(make(elsewhere, None))
    monkeypatch.setenv("FLIGHTPLAN_ALLOW_PLAINTEXT_TOKEN", "1")
    asyncio.run(make(elsewhere, None))


def test_a_token_is_its_text_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    flightplan.Client("127.0.0.1:1", token="s3cret\n").close()
    for token in ("s3cret\nb", "s3cret b", "s3cret\u00e9", "s3cret\x00b"):
        with pytest.raises(ValueError, match="FLIGHTPLAN_TOKEN") as refused:
            flightplan.Client("127.0.0.1:1", token=token)
        assert "s3cret" not in str(refused.value)
    monkeypatch.setenv("FLIGHTPLAN_TOKEN", " ")
    flightplan.Client("192.0.2.1:1").close()


def test_token_is_sent_by_every_stub(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.yaml"
    digest = hashlib.sha256(b"s3cret").hexdigest()
    tokens.write_text(f"tokens:\n  - {{sha256: {digest}, tenant: a, roles: [admin], expires: 2099-01-01T00:00:00Z}}\n")
    tokens.chmod(0o600)
    gpu = catalog_service_pb2.GetGpuRequest(name="h100-sxm")
    requests = [resolver_service_pb2.BatchResolveRequest(request_id="a")]

    async def ask(address: str) -> None:
        async with flightplan.AsyncClient(address, token="s3cret") as client:
            assert (await client.catalog.GetGpu(gpu)).name == "h100-sxm"
            assert (await client.resolve("qwen3-30b-a3b", **SMALL)).ok
            assert len([answer async for answer in client.resolver.BatchResolve(iter(requests))]) == 1
            assert (await client.plan_layouts("qwen3-30b-a3b", "h100-sxm", 16, count=1))[0].resolved

    with serving(tmp_path, f"--token_file={tokens}") as address:
        with flightplan.Client(address) as client, pytest.raises(grpc.RpcError, match="UNAUTHENTICATED"):
            client.catalog.GetGpu(gpu)
        with flightplan.Client(address, token="s3cret") as client:
            assert client.catalog.GetGpu(gpu).name == "h100-sxm"
            assert client.resolve("qwen3-30b-a3b", **SMALL).ok
            assert len(list(client.resolver.BatchResolve(iter(requests)))) == 1
            assert client.plan_layouts("qwen3-30b-a3b", "h100-sxm", 16, count=1)[0].resolved
            with pytest.raises(grpc.RpcError, match="UNAUTHENTICATED"):  # a caller's own word holds
                client.catalog.GetGpu(gpu, metadata=(("authorization", "Bearer other"),))
        asyncio.run(ask(address))


def test_a_proxy_hears_of_no_plain_text_and_of_no_local_address(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        proxy.setblocking(False)
        for variable in ("http_proxy", "https_proxy", "grpc_proxy"):
            monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        monkeypatch.setenv("FLIGHTPLAN_ALLOW_PLAINTEXT_TOKEN", "1")
        with flightplan.Client(server, token="s3cret") as client:
            assert client.rule("recompute.full-needs-method").id
        for address, credentials in [("192.0.2.1:1", None), ("localhost:1", grpc.ssl_channel_credentials())]:
            client = flightplan.Client(address, token="s3cret", credentials=credentials)
            with client, pytest.raises(flightplan.RpcError):
                client.validate(["--num-layers", "24"], timeout=0.5)
        with pytest.raises(BlockingIOError):
            proxy.accept()


def test_the_environment_says_how_tls_is_spoken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost -addext"
    made = [*make.split(), "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    flags = [f"--tls_cert_file={certificate}", f"--tls_key_file={key}", f"--tls_client_ca_file={certificate}"]
    with serving(tmp_path, *flags) as address:
        monkeypatch.setenv("FLIGHTPLAN_CERT_FILE", str(certificate))
        monkeypatch.setenv("FLIGHTPLAN_KEY_FILE", str(key))
        with pytest.raises(ValueError, match="FLIGHTPLAN_KEY_FILE needs FLIGHTPLAN_CA_FILE"):
            flightplan.Client(address)
        monkeypatch.setenv("FLIGHTPLAN_CA_FILE", str(certificate))

        async def ask() -> None:
            async with flightplan.AsyncClient(address) as client:
                await client.validate(["--num-layers", "24"], gpus=8)

        with flightplan.Client(address) as client:
            client.validate(["--num-layers", "24"], gpus=8)
        asyncio.run(ask())
    monkeypatch.setenv("FLIGHTPLAN_CA_FILE", str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="FLIGHTPLAN_CA_FILE: .*No such file"):
        flightplan.Client("127.0.0.1:1")
