"""What the tests of the Kubernetes door share: the objects people submit, and a server with the webhook."""
import http.client
import json
import pathlib
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request

import yaml

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE / "../support"))
from serving import Server  # noqa: E402

OBJECTS = sorted(path.stem for path in (HERE / "objects").glob("*.yaml"))
MANIFEST = HERE / "../../clients/kubernetes/webhook.yaml"
# A launch behind as much work as one review may take, in steps that take long for what they count as: no copies of long texts.
DEAR_SCRIPT = ("for ((i=0;i<1000;i++)); do for ((j=0;j<1000;j++)); do a=$((a+j*i)); done; done\n"
               "torchrun pretrain_gpt.py --num-layers 4 --tensor-model-parallel-size 2\n")


def obj(kind, tp=2):
    return yaml.safe_load((HERE / f"objects/{kind}.yaml").read_text().replace("{TP}", str(tp)))


class Door(Server):
    """A server with a webhook in a mode of its own. `authority`: a folder for another authority, and a certificate of it."""

    def __init__(self, flightplan, mode, *flags, listen=(), authority=None):
        scratch = tempfile.TemporaryDirectory(prefix="webhook-")
        self.root = pathlib.Path(scratch.name)
        if authority is not None:
            self.issue(pathlib.Path(authority), "kube-apiserver")
        self.mode = mode
        self.make_certificate("first")
        super().__init__(flightplan, "--webhook_listen=127.0.0.1:0", f"--webhook_cert_file={self.root}/cert.pem",
                         f"--webhook_key_file={self.root}/key.pem", f"--webhook_mode={mode}",
                         f"--decision_log=file:{self.root}/decisions", *flags,
                         listen=(f"unix:{self.root}/s.sock", *listen), scratch=scratch)

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
        connection = http.client.HTTPSConnection("127.0.0.1", self.webhook, context=self.context, timeout=30)
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
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/metrics", timeout=10) as answer:
            name = f'flightplan_door_reviews_total{{door="kubernetes",mode="{self.mode}",verdict="{verdict}"}} '
            return float(next(line for line in answer.read().decode().splitlines() if line.startswith(name)).split()[-1])

    def decisions(self, key, value):
        """The decision log's lines with that value. It is written behind the answer's back."""
        for _ in range(1200):
            *lines, _rest = (self.root / "decisions").read_text().split("\n")  # the last may still be under way
            found = [line for line in map(json.loads, lines) if line.get(key) == value]
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(f"no line with {key}={value} in the decision log")
