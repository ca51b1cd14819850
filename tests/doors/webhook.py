"""What the tests of the Kubernetes door share: the objects people submit, and a server with the webhook."""
import http.client
import json
import pathlib
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.request

import yaml

HERE = pathlib.Path(__file__).parent
OBJECTS = sorted(path.stem for path in (HERE / "objects").glob("*.yaml"))
MANIFEST = HERE / "../../clients/kubernetes/webhook.yaml"
# A launch behind as much work as one review may take.
DEAR_SCRIPT = ("x=aaaaaaaa\n" + "x=$x$x\n" * 14 + "for ((i=0;i<200;i++)); do for ((j=0;j<200;j++)); do y=${x:0:1}; done; done\n"
               "torchrun pretrain_gpt.py --num-layers 4 --tensor-model-parallel-size 2\n")


def obj(kind, tp=2):
    return yaml.safe_load((HERE / f"objects/{kind}.yaml").read_text().replace("{TP}", str(tp)))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def peak_mib(process):
    """The most memory that a process has had, in MiB."""
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


class Door:
    """A server with a webhook in a mode of its own. `authority`: a folder for another authority, and a certificate of it."""

    def __init__(self, flightplan, mode, *flags, authority=None):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="webhook-"))
        if authority is not None:
            self.issue(pathlib.Path(authority), "kube-apiserver")
        self.mode = mode
        self.ports = free_port(), free_port()
        self.make_certificate("first")
        self.log = open(self.root / "log", "wb")
        self.process = subprocess.Popen(
            [flightplan, "serve", f"--listen=unix:{self.root}/s.sock", f"--http_listen=127.0.0.1:{self.ports[0]}",
             f"--webhook_listen=127.0.0.1:{self.ports[1]}", f"--webhook_cert_file={self.root}/cert.pem",
             f"--webhook_key_file={self.root}/key.pem", f"--webhook_mode={mode}", "--drain_delay=0s",
             f"--decision_log=file:{self.root}/decisions", *flags],
            stderr=self.log)
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.ports[1]), 1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError((self.root / "log").read_text())

    @staticmethod
    def issue(folder, name):
        """A certificate authority of its own, and a certificate for the webhook's name in the cluster."""
        run = lambda *command: subprocess.run(["openssl", *map(str, command)], check=True, capture_output=True)  # noqa: E731
        run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=test authority",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign",  # Python 3.13 wants it
            "-keyout", folder / "ca-key.pem", "-out", folder / "ca.pem")
        run("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", folder / "key.pem", "-out", folder / "csr.pem")
        (folder / "ext").write_text("subjectAltName=DNS:flightplan-webhook.flightplan.svc,IP:127.0.0.1\n"
                                   "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n")
        run("x509", "-req", "-in", folder / "csr.pem", "-CA", folder / "ca.pem", "-CAkey", folder / "ca-key.pem", "-CAcreateserial",
            "-days", "1", "-extfile", folder / "ext", "-out", folder / "cert.pem")

    def make_certificate(self, name):
        new = self.root / name
        new.mkdir()
        self.issue(new, name)
        self.context = ssl.create_default_context(cafile=new / "ca.pem")
        for file in ("key.pem", "cert.pem"):  # as a rotated secret: a link that moves
            link = self.root / (file + ".new")
            link.symlink_to(new / file)
            link.rename(self.root / file)

    def post(self, body, path="/admission/v1/validate"):
        connection = http.client.HTTPSConnection("127.0.0.1", self.ports[1], context=self.context, timeout=30)
        connection.request("POST", path, body if isinstance(body, bytes) else json.dumps(body).encode(),
                           {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def review(self, thing, operation="CREATE", **more):
        request = {"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "operation": operation, "namespace": "team-a",
                   "name": "pretrain", "object": thing, "dryRun": False, **more}
        status, text = self.post({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
        assert status == 200, text
        answer = json.loads(text)
        assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
        assert answer["response"]["uid"] == request["uid"]
        return answer["response"]

    def count(self, verdict):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[0]}/metrics", timeout=10) as answer:
            name = f'flightplan_door_reviews_total{{door="kubernetes",mode="{self.mode}",verdict="{verdict}"}} '
            return float(next(line for line in answer.read().decode().splitlines() if line.startswith(name)).split()[-1])

    def decisions(self, key, value):
        """The decision log's lines with that value. It is written behind the answer's back."""
        for _ in range(200):
            lines = [json.loads(line) for line in (self.root / "decisions").read_text().splitlines()]
            found = [line for line in lines if line.get(key) == value]
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(f"no line with {key}={value} in the decision log")

    def close(self):
        self.process.terminate()
        self.process.wait(30)
        self.log.close()
        shutil.rmtree(self.root)
