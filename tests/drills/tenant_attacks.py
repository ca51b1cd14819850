#!/usr/bin/env python3
"""One tenant who asks for the dearest there is, all the time, from an address of its own: tenant_attacks.py PORT SECONDS KIND
[TOKEN]. Prints how many calls it asked for, how many ended, and how many connections it lost.

plans: searches over 1,024 GPUs whose answers nobody reads. searches: layouts left open. scripts: shell that takes long to
interpret, to be converted. aliases: YAML that grows behind its aliases. batches: batches whose answers nobody reads. padded:
messages of varints padded with zeros. models: configurations of models, nested deeply. reports: measurements of 16 KiB.
profiles: of 400 rows. extremes: 62 bytes whose times are infinite. probes: measurements of GPUs. slow: calls of a byte a second.
"""
import pathlib
import socket
import subprocess
import sys
import threading
import time

from http2 import ACK, ADDRESS, DATA, DEAF_OPENING, END_HEADERS, END_STREAM, HEADERS, OPENING, PING, RST_STREAM, SETTINGS, frame, grpc_headers, grpc_message

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESOLVER, CATALOG, EVIDENCE, PROBE = (f"/flightplan.v1.{name}Service/" for name in ("Resolver", "Catalog", "Evidence", "Probe"))
WINDOW_UPDATE, GOAWAY = 8, 7
CONNECTIONS = 4
OPEN_CALLS = 90       # of a connection: HAProxy takes 100, gRPC 128
FRAME = 16384         # the largest that everybody takes
MODEL = 'target { framework: "megatron-lm" } model { name: "deepseek-v3" } hardware { gpu: "h100-sxm" gpu_count: 1024 }'
DEAR = ('x=$(printf %131072s); for i in 1 2 3 4 5 6 7 8 9; do for j in 1 2 3 4 5 6 7 8 9; do y="${x:0:1}${x##*a}"; done; done\n'
        "python train.py --tensor-model-parallel-size 2\n")
port, seconds, kind = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
token = sys.argv[4] if len(sys.argv) > 4 else ""
stop = time.monotonic() + seconds
asked = ended = cut = 0


def encode(service, message, text):
    return subprocess.run(["protoc", f"-I{ROOT}/proto", f"--encode=flightplan.v1.{message}", f"flightplan/v1/{service}_service.proto"],
                          input=text.encode(), stdout=subprocess.PIPE, check=True).stdout


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def file_of(name, text, framework="megatron-lm"):
    return f'file {{ name: "{name}" text: {quoted(text)} }} target {{ framework: "{framework}" }}'


def aliases():
    lines = ["a0: &a0 [" + ", ".join(["x" * 40] * 200) + "]"]
    lines += [f"a{i}: &a{i} [" + ", ".join([f"*a{i - 1}"] * 60) + "]" for i in range(1, 9)]
    return "\n".join(lines) + "\n"


def calls():
    """The path, what is asked there in turn, calls a second of one connection."""
    workload = " workload {{ seq_length: 4096 global_batch_size: {} }}"
    if kind == "plans":
        return RESOLVER + "PlanLayouts", [encode("resolver", "PlanLayoutsRequest", f"plan_count: 100 base {{ {MODEL}{workload.format(1024 * (8 + i))} }}")
                                          for i in range(8)], 20
    if kind == "searches":
        return RESOLVER + "ResolveConfig", [encode("resolver", "ResolveConfigRequest", MODEL + workload.format(1024 * (8 + i))) for i in range(32)], 10
    if kind == "scripts":
        return RESOLVER + "ConvertConfig", [encode("resolver", "ConvertConfigRequest", f"source {{ {file_of('a.sh', DEAR + f'# {i}')} }} "
                                                   'target { framework: "megatron-bridge" }') for i in range(8)], 20
    if kind == "aliases":
        return RESOLVER + "ValidateConfig", [encode("resolver", "ValidateConfigRequest", file_of(f"a{i}.yaml", aliases(), "megatron-bridge"))
                                             for i in range(8)], 20
    if kind == "batches":
        layout = " layout { tensor_model_parallel_size: 2 pipeline_model_parallel_size: 8 expert_model_parallel_size: 64 micro_batch_size: 1 }"
        return RESOLVER + "BatchResolve", [encode("resolver", "BatchResolveRequest", f'request_id: "{i}" resolve {{ {MODEL}{workload.format(1024 * (8 + i))}{layout} }}')
                                           for i in range(32)], 200
    if kind == "padded":
        # Field 14 (view), its value a zero in ten bytes, five thousand times.
        return RESOLVER + "ResolveConfig", [(b"\x70" + b"\x80" * 9 + b"\x00") * 5000], 20
    if kind == "models":
        return CATALOG + "ImportModel", [encode("catalog", "ImportModelRequest", "hf_config_json: " + quoted('{"a":' * 900 + "1" + "}" * 900)),
                                         encode("catalog", "ImportModelRequest", "hf_config_json: " + quoted('{"a":[' + "1e308," * 8000 + "1]}"))], 50
    if kind == "reports":
        text = ('id: "{}" metric: "step_time_us" value: 2e6 quality: "matched" model: "qwen3-30b-a3b" gpu: "h100-sxm" gpu_count: 16 '
                'workload {{ seq_length: 4096 global_batch_size: 128 }} target {{ framework: "megatron-lm" }} layout {{ expert_model_parallel_size: 8 }}')
        packages = " ".join(f'packages {{ key: "p{i}" value: "{"v" * 100}" }}' for i in range(120))
        return EVIDENCE + "ReportMeasurement", [encode("evidence", "ReportMeasurementRequest", f"measurement {{ {text.format(f'r{time.time_ns()}-{i}')} "
                                                       f"software {{ {packages} }} }}") for i in range(64)], 100
    if kind == "profiles":
        row = lambda i: 'rows { id: "hbm.sm_curve" unit: "bytes_per_second" kind: "measured" value: 2e10 low: 1e10 high: 3e10 sample_count: 9 ' f'parameters {{ key: "sms" value: {i + 1} }} }}'  # noqa: E731
        return PROBE + "ImportProfile", [encode("probe", "ImportProfileRequest", f'profile {{ device_name: "NVIDIA H100 80GB HBM3" gpu: "h100-sxm" kind: "measured" {"".join(map(row, range(400)))} }}')], 20
    if kind == "extremes":
        return RESOLVER + "ResolveConfig", [encode("resolver", "ResolveConfigRequest", 'target { framework: "megatron-lm" } model { name: "qwen3-30b-a3b" } '
                                                   f'hardware {{ gpu: "h100-sxm" gpu_count: 8 fabric {{ nvlink_bytes_per_second: {value} }} }}')
                                            for value in ("1e-300", "nan", "inf", "5e-324")], 100
    if kind == "probes":
        return PROBE + "RunProbe", [b""], 20
    if kind == "slow":
        return RESOLVER + "ResolveConfig", [bytes(1000)], 20
    sys.exit(f"no kind is called {kind}")


class Peer:
    def __init__(self, deaf):
        self.open, self.window, self.gone = 0, 65535, False
        self.changed = threading.Condition()
        self.socket = socket.create_connection(("127.0.0.1", port), 5, (ADDRESS, 0))
        self.socket.settimeout(None)
        self.socket.sendall(DEAF_OPENING if deaf else OPENING)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        global ended
        kept, received = b"", 0
        try:
            while data := self.socket.recv(65536):
                kept += data
                while len(kept) >= 9 and len(kept) >= 9 + (size := int.from_bytes(kept[:3], "big")):
                    type_, flags, stream, payload = kept[3], kept[4], int.from_bytes(kept[5:9], "big"), kept[9:9 + size]
                    kept = kept[9 + size:]
                    if type_ in (SETTINGS, PING) and not flags & ACK:
                        self.socket.sendall(frame(type_, ACK, 0, payload if type_ == PING else b""))
                    with self.changed:
                        if type_ == WINDOW_UPDATE and stream == 0:
                            self.window += int.from_bytes(payload, "big")
                        if type_ == RST_STREAM or type_ in (DATA, HEADERS) and flags & END_STREAM:
                            self.open -= 1
                            ended += 1
                        self.changed.notify_all()
                    if type_ == DATA and payload:
                        received += len(payload)
                        if received > 16384:  # what is read may be sent again
                            self.socket.sendall(frame(WINDOW_UPDATE, 0, 0, received.to_bytes(4, "big")))
                            received = 0
                    if type_ == GOAWAY:
                        return
        except OSError:
            pass
        finally:
            with self.changed:
                self.gone = True
                self.changed.notify_all()

    def room(self, size):
        """Waits until a call of that size may be sent."""
        with self.changed:
            self.changed.wait_for(lambda: self.gone or self.open < OPEN_CALLS and self.window >= size, max(0.0, stop - time.monotonic()))
            if self.gone:
                raise OSError("the connection is gone")
            return self.open < OPEN_CALLS and self.window >= size

    def send(self, stream, path, message, last=True):
        body = grpc_message(message)[:6] if kind == "slow" else grpc_message(message)
        if path is not None:
            self.socket.sendall(frame(HEADERS, END_HEADERS, stream, grpc_headers(path, token)))
            self.open += 1
        self.window -= len(body)
        for at in range(0, len(body), FRAME):
            end = END_STREAM if last and at + FRAME >= len(body) else 0
            self.socket.sendall(frame(DATA, end, stream, body[at:at + FRAME]))


def ask(peer, path, messages, rate):
    global asked
    for i in range(1 << 20):
        message = messages[i % len(messages)]
        if time.monotonic() > stop or not peer.room(len(message) + 5):
            return
        if kind == "batches":  # one call, many messages
            peer.send(1, path if i == 0 else None, message, last=False)
        elif kind == "slow":
            peer.send(2 * i + 1, path, message, last=False)
        else:
            peer.send(2 * i + 1, path, message)
        asked += 1
        time.sleep(1 / rate)


def attack(path, messages, rate):
    global cut
    while time.monotonic() < stop:
        peer = None
        try:
            peer = Peer(deaf=kind in ("plans", "batches"))
            ask(peer, path, messages, rate)
        except OSError:
            cut += 1
            time.sleep(0.05)
        finally:
            if peer is not None and time.monotonic() < stop:
                peer.socket.close()


asked_for = calls()
stop = time.monotonic() + seconds  # what was made before is not the attack
print("ready", flush=True)
attackers = [threading.Thread(target=attack, args=asked_for, daemon=True) for _ in range(CONNECTIONS)]
for attacker in attackers:
    attacker.start()
while time.monotonic() < stop:
    time.sleep(0.05)
print(f"asked={asked} ended={ended} cut={cut}")
