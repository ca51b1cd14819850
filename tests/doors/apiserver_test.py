#!/usr/bin/env python3
"""The Kubernetes door behind a real kube-apiserver and etcd: what the API server makes of the webhook's answers, of
one that is late, and of one that is not there.

usage: apiserver_test.py FLIGHTPLAN_BINARY
"""
import base64
import http.client
import json
import os
import pathlib
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

import yaml

from webhook import MANIFEST, OBJECTS, Door, obj
from serving import free_port

SKIPPED = 77
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
APISERVER = CACHE / "flightplan/clients/apiserver/kube-apiserver"
ETCD = shutil.which("etcd")
for program, there, source in (("etcd", ETCD, "etcd-server"), ("openssl", shutil.which("openssl"), "openssl"),
                               ("kube-apiserver", APISERVER.exists(), "deploy/setup_clients.sh apiserver")):
    if not there:
        print(f"skipped: {program} is missing: {source}")
        sys.exit(SKIPPED)

FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))
TIMEOUT = 2  # seconds that the manifest gives the webhook


class ApiServer:
    """kube-apiserver over an etcd of its own; everyone may do everything."""

    def __init__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="apiserver-"))
        self.port, client, peer = free_port(), free_port(), free_port()
        self.processes = []
        subprocess.run(["openssl", "genrsa", "-out", self.root / "accounts.key", "2048"], check=True, capture_output=True)
        (self.root / "audit.yaml").write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
        (self.root / "tokens.csv").write_text("t0ken,alice,alice,team-a\n")
        self.start("etcd", ETCD, f"--data-dir={self.root}/etcd", f"--listen-client-urls=http://127.0.0.1:{client}",
                   f"--advertise-client-urls=http://127.0.0.1:{client}", f"--listen-peer-urls=http://127.0.0.1:{peer}",
                   f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
                   f"--initial-cluster=default=http://127.0.0.1:{peer}")
        self.start("apiserver", APISERVER, f"--etcd-servers=http://127.0.0.1:{client}", f"--secure-port={self.port}",
                   "--bind-address=127.0.0.1", f"--cert-dir={self.root}/certificates", "--service-cluster-ip-range=10.0.0.0/24",
                   "--service-account-issuer=https://kubernetes.default.svc",
                   f"--service-account-key-file={self.root}/accounts.key",
                   f"--service-account-signing-key-file={self.root}/accounts.key",
                   f"--token-auth-file={self.root}/tokens.csv", "--authorization-mode=AlwaysAllow",
                   "--disable-admission-plugins=ServiceAccount", f"--audit-policy-file={self.root}/audit.yaml",
                   f"--audit-log-path={self.root}/audit.log")
        self.context = ssl.create_default_context()
        self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE  # its own, of this minute
        self.wait(lambda: self.call("GET", "/readyz")[0] == 200, "the API server is not ready")

    def start(self, name, *command):
        with open(self.root / f"{name}.log", "wb") as log:
            self.processes.append(subprocess.Popen(list(map(str, command)), stdout=log, stderr=log))

    def wait(self, condition, what, seconds=120):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if condition():
                    return
            except OSError:
                pass
            for process in self.processes:
                if process.poll() is not None:
                    raise RuntimeError(f"{process.args[0]} ended: {self.logs()}")
            time.sleep(0.1)
        raise RuntimeError(f"{what}: {self.logs()}")

    def logs(self):
        return "\n".join(path.read_text(errors="replace")[-3000:] for path in self.root.glob("*.log"))

    def call(self, method, path, body=None, content="application/json"):
        """-> status, the object that was answered, the texts of its warnings."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=60)
        try:
            connection.request(method, path, json.dumps(body).encode() if body is not None else None,
                               {"Authorization": "Bearer t0ken", "Content-Type": content})
            answer = connection.getresponse()
            text = answer.read().decode()
            warnings = answer.headers.get_all("Warning") or []
        finally:
            connection.close()
        try:
            return answer.status, json.loads(text), warnings
        except ValueError:
            return answer.status, {"message": text}, warnings

    def made(self, method, path, body, content="application/json"):
        status, answer, _ = self.call(method, path, body, content)
        assert status in (200, 201), (status, answer.get("message"))
        return answer

    def audit(self, name):
        """The annotations of the event in which the object of that name was asked for, when it is written."""
        found = []

        def look():
            found[:] = [event for event in map(json.loads, (self.root / "audit.log").read_text().splitlines())
                        if event.get("objectRef", {}).get("name") == name and event["stage"] == "ResponseComplete"]
            return bool(found)
        self.wait(look, f"no audit event of {name}", 30)
        return found[-1].get("annotations", {})

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.root)


def plural(thing):
    return thing["kind"].lower() + "s"


def path_of(thing, namespace="team-a"):
    return f"/apis/{thing['apiVersion']}/namespaces/{namespace}/{plural(thing)}"


def all_stand_still(process):
    """Whether every thread of it is stopped: a signal reaches those that run when the machine comes to it."""
    states = [task.read_text().rpartition(")")[2].split()[0] for task in pathlib.Path(f"/proc/{process}/task").glob("*/stat")]
    return set(states) == {"T"}


def custom_resource(thing):
    """A definition under which the API server stores the kind as it is."""
    group, version = thing["apiVersion"].split("/")
    names = {"kind": thing["kind"], "plural": plural(thing), "singular": thing["kind"].lower()}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural(thing)}.{group}",
                         # Groups under k8s.io are reserved, and want to be told that this is meant.
                         "annotations": {"api-approved.kubernetes.io": "unapproved, a test"}},
            "spec": {"group": group, "scope": "Namespaced", "names": names,
                     "versions": [{"name": version, "served": True, "storage": True, "schema": schema}]}}


class RealApiServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.api = ApiServer()
        cls.addClassCleanup(cls.api.close)
        cls.door = Door(FLIGHTPLAN, "enforce", "--stack_releases=megatron-lm@0.17")
        cls.addClassCleanup(cls.door.close)
        cls.warn = Door(FLIGHTPLAN, "warn", "--stack_releases=megatron-lm@0.17")
        cls.addClassCleanup(cls.warn.close)
        cls.names = 0
        for name, labels in (("team-a", {}), ("quiet", {"flightplan.dev/ignore": "true"})):
            cls.api.made("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
        for kind in OBJECTS:
            if obj(kind)["apiVersion"] != "batch/v1":
                cls.api.made("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", custom_resource(obj(kind)))
        for kind in OBJECTS:
            cls.api.wait(lambda path=path_of(obj(kind)): cls.api.call("GET", path)[0] == 200, f"{kind} is not served")
        cls.install(cls.door)

    @classmethod
    def install(cls, door, policy="Ignore", authority=None):
        """The manifest as it is shipped, but for the address: there is no cluster network here."""
        configuration = yaml.safe_load(MANIFEST.read_text())
        [hook] = configuration["webhooks"]
        assert (hook["timeoutSeconds"], hook["failurePolicy"]) == (TIMEOUT, "Ignore")
        hook["failurePolicy"] = policy
        authority = authority or (door.root / "first/ca.pem").read_bytes()
        hook["clientConfig"] = {"url": f"https://127.0.0.1:{door.webhook}/admission/v1/validate",
                                "caBundle": base64.b64encode(authority).decode()}
        # A namespace of its own tells when the API server goes by the new configuration.
        cls.names += 1
        mark = f"mark-{cls.names}"
        cls.api.made("POST", "/api/v1/namespaces", {"metadata": {"name": mark}})
        configuration["webhooks"].append({
            **hook, "name": f"{mark}.flightplan.dev", "failurePolicy": "Fail",
            "clientConfig": {"url": "https://127.0.0.1:1/", "caBundle": hook["clientConfig"]["caBundle"]},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": mark}}})
        path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        cls.api.call("DELETE", f"{path}/flightplan")
        cls.api.made("POST", path, configuration)
        probe = obj("job")
        probe["metadata"] = {"name": "probe"}
        cls.api.wait(lambda: f'"{mark}.flightplan.dev"' in str(cls.api.call("POST", path_of(probe, mark) + "?dryRun=All", probe)[1].get("message")),
                     "the webhook's configuration is not in force")

    def create(self, kind, tp, namespace="team-a", query=""):
        thing = obj(kind, tp)
        type(self).names += 1
        thing["metadata"] = {"name": f"pretrain-{type(self).names}"}
        thing.pop("status", None)
        started = time.monotonic()
        status, answer, warnings = self.api.call("POST", path_of(thing, namespace) + query, thing)
        return status, answer, warnings, thing["metadata"]["name"], time.monotonic() - started

    def stored(self, kind, name, namespace="team-a"):
        return self.api.call("GET", f"{path_of(obj(kind), namespace)}/{name}")[0] == 200

    def test_every_kind_is_refused_with_the_fix_and_stored_when_it_runs(self):
        for kind in OBJECTS:
            with self.subTest(kind):
                status, answer, _, name, _ = self.create(kind, 3)
                self.assertEqual((status, answer["code"]), (403, 403), answer)
                self.assertIn('admission webhook "jobs.flightplan.dev" denied the request: this job would fail (megatron-lm 0.17)',
                              answer["message"])
                self.assertIn("fix: --tensor-model-parallel-size 2", answer["message"])
                self.assertFalse(self.stored(kind, name))
                status, answer, warnings, name, _ = self.create(kind, 2)
                self.assertEqual(status, 201, answer)
                self.assertTrue(self.stored(kind, name))

    def test_a_dry_run_is_judged_and_stores_nothing(self):
        status, answer, _, name, _ = self.create("pytorchjob", 3, query="?dryRun=All")
        self.assertEqual(status, 403)
        self.assertIn("fix: ", answer["message"])
        status, answer, _, name, _ = self.create("pytorchjob", 2, query="?dryRun=All")
        self.assertEqual(status, 201, answer)
        self.assertFalse(self.stored("pytorchjob", name))

    def test_the_manifests_of_the_deployment_are_taken(self):
        """Every file of deploy/kubernetes, unknown fields refused, nothing stored; kinds of other projects left out."""
        self.api.made("POST", "/api/v1/namespaces", {"metadata": {"name": "flightplan"}})
        paths = {"Service": "/api/v1/{}/services", "Deployment": "/apis/apps/v1/{}/deployments",
                 "Job": "/apis/batch/v1/{}/jobs", "PodDisruptionBudget": "/apis/policy/v1/{}/poddisruptionbudgets",
                 "NetworkPolicy": "/apis/networking.k8s.io/v1/{}/networkpolicies",
                 "HorizontalPodAutoscaler": "/apis/autoscaling/v2/{}/horizontalpodautoscalers"}
        taken = 0
        for file in sorted((pathlib.Path(__file__).resolve().parents[2] / "deploy/kubernetes").rglob("*.yaml")):
            for thing in yaml.safe_load_all(file.read_text()):
                path = paths.get(thing.get("kind"))
                if path is None or file.name in ("store.yaml", "profiles.yaml", "store_network.yaml"):  # patches
                    continue
                pod = thing.get("spec", {}).get("template", {}).get("spec", {})
                # Sidecars are Kubernetes 1.29's, which this API server (1.26) does not know: to it they are containers.
                sidecars = [c for c in pod.get("initContainers", []) if c.pop("restartPolicy", None) == "Always"]
                if sidecars:
                    pod["containers"] += sidecars
                    pod["initContainers"] = [c for c in pod["initContainers"] if c not in sidecars]
                with self.subTest(f"{file.name} {thing['metadata']['name']}"):
                    status, answer, warnings = self.api.call(
                        "POST", path.format("namespaces/flightplan") + "?dryRun=All&fieldValidation=Strict", thing)
                    self.assertEqual((status, warnings), (201, []), answer.get("message"))
                    taken += 1
        self.assertGreater(taken, 10)

    def test_an_ignored_namespace_is_not_judged(self):
        self.assertEqual(self.create("pytorchjob", 3, namespace="quiet")[0], 201)

    def test_what_is_stored_stays_changeable(self):
        status, answer, _, name, _ = self.create("pytorchjob", 2)
        self.assertEqual(status, 201, answer)
        path = f"{path_of(obj('pytorchjob'))}/{name}"
        status, answer = self.api.call("PATCH", path, {"spec": obj("pytorchjob", 3)["spec"]}, "application/merge-patch+json")[:2]
        self.assertEqual(status, 403, answer)  # but not into what would fail
        self.assertIn("fix: ", answer["message"])
        self.api.made("PATCH", path, {"metadata": {"labels": {"team": "a"}}}, "application/merge-patch+json")
        self.api.made("PATCH", path, {"spec": obj("pytorchjob", 1)["spec"]}, "application/merge-patch+json")

    def test_the_audit_log_names_the_decision(self):
        name = self.create("pytorchjob", 3)[3]
        notes = self.api.audit(name)
        self.assertEqual(notes["jobs.flightplan.dev/verdict"], "refused")
        self.assertEqual(notes["jobs.flightplan.dev/mode"], "enforce")
        self.assertIn("mlm.world-divisible", notes["jobs.flightplan.dev/rules"])
        self.assertRegex(notes["jobs.flightplan.dev/decision"], r"^\S+$")

    def test_the_decision_log_names_who_asked(self):
        name = self.create("pytorchjob", 3)[3]
        [line] = self.door.decisions("door_object", f"PyTorchJob team-a/{name}")
        self.assertEqual((line["door_user"], line["door_verdict"]), ("alice", "refused"))

    def test_warnings_reach_the_user(self):
        self.install(self.warn)
        self.addCleanup(self.install, self.door)
        status, answer, warnings, name, _ = self.create("pytorchjob", 3)
        self.assertEqual(status, 201, answer)
        self.assertTrue(self.stored("pytorchjob", name))
        self.assertTrue(any("fix: --tensor-model-parallel-size 2" in warning for warning in warnings), warnings)

    def late(self, policy):
        """An answer to a job while the webhook's process stands still."""
        self.install(self.door, policy)
        self.addCleanup(self.install, self.door)
        self.door.process.send_signal(signal.SIGSTOP)
        try:
            self.api.wait(lambda: all_stand_still(self.door.process.pid), "the webhook's threads run on", 30)
            return self.create("pytorchjob", 3)
        finally:
            self.door.process.send_signal(signal.SIGCONT)

    def test_a_late_answer_lets_the_job_pass(self):
        status, answer, _, name, seconds = self.late("Ignore")
        self.assertEqual(status, 201, answer)
        self.assertTrue(self.stored("pytorchjob", name))
        self.assertGreaterEqual(seconds, TIMEOUT - 0.5)  # it was waited for

    def test_a_late_answer_stops_the_job_where_the_site_wants_that(self):
        status, answer, _, name, _ = self.late("Fail")
        self.assertEqual(status, 500, answer)
        self.assertIn('failed calling webhook "jobs.flightplan.dev"', answer["message"])
        self.assertFalse(self.stored("pytorchjob", name))

    def test_a_server_that_is_down(self):
        gone = Door(FLIGHTPLAN, "enforce")
        for policy, status in (("Ignore", 201), ("Fail", 500)):
            self.install(gone, policy)
            if gone.process.poll() is None:
                gone.process.terminate()
                gone.process.wait(30)
            self.assertEqual(self.create("pytorchjob", 3)[0], status, policy)
        gone.close()
        self.install(self.door)

    def test_a_certificate_of_another_authority_is_not_trusted(self):
        self.install(self.door, "Fail", (self.warn.root / "first/ca.pem").read_bytes())
        self.addCleanup(self.install, self.door)
        status, answer, _, _, _ = self.create("pytorchjob", 2)
        self.assertEqual(status, 500)
        self.assertIn("certificate", answer["message"])

    def test_a_new_certificate_is_taken_under_the_api_server(self):
        door = Door(FLIGHTPLAN, "enforce")
        self.addCleanup(door.close)
        self.addCleanup(self.install, self.door)
        door.make_certificate("second")
        first, second = ((door.root / name / "ca.pem").read_bytes() for name in ("first", "second"))
        self.install(door, "Fail", first + second)
        for _ in range(4):  # files are looked at once a second
            self.assertEqual(self.create("pytorchjob", 3)[0], 403)
            time.sleep(0.5)
        self.install(door, "Fail", second)
        self.assertEqual(self.create("pytorchjob", 3)[0], 403)


if __name__ == "__main__":
    unittest.main(verbosity=2)
