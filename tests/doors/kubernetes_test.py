#!/usr/bin/env python3
"""The Kubernetes door: objects of every kind as AdmissionReviews over HTTPS, with certificates made here.

usage: kubernetes_test.py FLIGHTPLAN_BINARY
"""
import contextlib
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import time
import unittest

import yaml

from webhook import DEAR_SCRIPT, MANIFEST, OBJECTS, Door, obj
from serving import peak_mib

SKIPPED = 77
if shutil.which("openssl") is None:
    print("skipped: openssl is not installed")
    sys.exit(SKIPPED)

FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))


class KubernetesDoor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.enforce = Door(FLIGHTPLAN, "enforce", "--stack_releases=megatron-lm@0.17")
        cls.addClassCleanup(cls.enforce.close)
        cls.warn = Door(FLIGHTPLAN, "warn")
        cls.addClassCleanup(cls.warn.close)
        cls.shadow = Door(FLIGHTPLAN, "shadow")
        cls.addClassCleanup(cls.shadow.close)

    def log_with(self, word):
        """The server's log, which it writes behind the answer."""
        until = time.monotonic() + 10
        while True:
            log = (self.enforce.root / "log").read_text()
            if word in log or time.monotonic() > until:
                self.assertIn(word, log)
                return log
            time.sleep(0.05)

    def test_every_kind_is_denied_with_the_fix_and_allowed_when_it_runs(self):
        self.assertEqual(len(OBJECTS), 7)
        for kind in OBJECTS:
            with self.subTest(kind):
                denied = self.enforce.review(obj(kind, 3))
                self.assertFalse(denied["allowed"])
                self.assertEqual(denied["status"]["code"], 403)
                self.assertIn("this job would fail (megatron-lm 0.17)", denied["status"]["message"])
                self.assertIn("world_size=16", denied["status"]["message"])
                self.assertIn("fix: --tensor-model-parallel-size 2", denied["status"]["message"])
                self.assertIn(denied["auditAnnotations"]["decision"], denied["status"]["message"])
                self.assertIn("mlm.world-divisible", denied["auditAnnotations"]["rules"])
                allowed = self.enforce.review(obj(kind, 2))
                self.assertTrue(allowed["allowed"], allowed)
                self.assertEqual(allowed["auditAnnotations"]["verdict"], "allowed", allowed)

    def test_each_launch_of_a_script_is_judged(self):
        for sizes, allowed in ((("3", "2"), False), (("2", "3"), False), (("1", "2"), True)):
            several = obj("pytorchjob", 2)
            for replica in several["spec"]["pytorchReplicaSpecs"].values():
                args = replica["template"]["spec"]["containers"][0]["args"]
                before, launcher, launch = args[0].partition("torchrun")
                args[0] = before + "".join(f"{launcher}{launch}\n".replace("$TP", size) for size in sizes)
            answer = self.enforce.review(several)
            self.assertEqual(answer["allowed"], allowed, answer)

    def test_warn_mode_warns_and_allows(self):
        answer = self.warn.review(obj("pytorchjob", 3))
        self.assertTrue(answer["allowed"])
        self.assertTrue(any("fix: --tensor-model-parallel-size 2" in warning for warning in answer["warnings"]))
        self.assertLessEqual(len(answer["warnings"]), 10)
        self.assertTrue(all(len(warning.encode()) <= 256 for warning in answer["warnings"]))
        self.assertEqual(answer["auditAnnotations"]["verdict"], "refused")

    def test_shadow_mode_only_counts(self):
        before = self.shadow.count("refused")
        answer = self.shadow.review(obj("pytorchjob", 3))
        self.assertTrue(answer["allowed"])
        self.assertNotIn("warnings", answer)
        self.assertEqual(answer["auditAnnotations"]["mode"], "shadow")
        self.assertEqual(self.shadow.count("refused"), before + 1)

    def test_each_review_stands_in_the_decision_log(self):
        user = {"username": "system:serviceaccount:kueue:controller", "groups": ["system:authenticated"]}
        ask = lambda uid, thing, **more: self.enforce.review(thing, uid=uid, userInfo=user, **more)  # noqa: E731

        refused = ask("log-refused", obj("pytorchjob", 3), dryRun=True)
        [line] = self.enforce.decisions("request_id", "log-refused")
        self.assertEqual(line["rpc"], "/admission/v1/validate")
        self.assertEqual((line["door"], line["door_mode"]), ("kubernetes", "enforce"))
        self.assertEqual((line["door_verdict"], line["door_allowed"], line["door_dry_run"]), ("refused", "no", "yes"))
        self.assertEqual((line["door_user"], line["door_object"]), (user["username"], "PyTorchJob team-a/pretrain"))
        self.assertIn("mlm.world-divisible", line["door_findings"])
        self.assertEqual(line["decision_id"], refused["auditAnnotations"]["decision"])
        self.assertLessEqual(set(line["door_findings"]), set(line["rule_ids"]))

        ask("log-allowed", obj("pytorchjob", 2))
        [line] = self.enforce.decisions("request_id", "log-allowed")
        self.assertEqual((line["door_verdict"], line["door_allowed"], line["outcome"]), ("allowed", "yes", "accepted"))
        self.assertNotIn("door_dry_run", line)

        thing = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generateName": "web-"}, "spec": {}}
        ask("log-other", thing, name="")
        [line] = self.enforce.decisions("request_id", "log-other")
        self.assertEqual((line["door_verdict"], line["door_allowed"]), ("not_judged", "yes"))
        self.assertEqual((line["door_object"], line["door_findings"]), ("Deployment team-a/web-*", []))
        self.assertIn("no launch is read from Deployment", line["door_reason"])
        self.assertNotIn("decision_id", line)

        # A caller's text of any length or kind is one bounded line.
        ask("log-long", thing, name="n\n\u0000" * 100_000)
        [line] = self.enforce.decisions("request_id", "log-long")
        self.assertLessEqual(len(line["door_object"].encode()), 1024)

        # Nor does a name forge a line of the server's log, or drive the terminal of whoever reads it.
        ask("log-forged", thing, name='n\n{"msg":"forged"}\r\x1b[2J\x9b2J')
        log = self.log_with("forged")
        self.assertNotRegex(log, "[\x00-\x09\x0b-\x1f\x7f-\x9f]")
        self.assertNotIn("forged", [json.loads(line).get("msg") for line in log.split("\n") if line])

        done = subprocess.run([FLIGHTPLAN, "replay", self.enforce.root / "decisions"], capture_output=True, text=True, timeout=60)
        self.assertIn("reviews of a door that decided nothing", done.stdout)
        self.assertNotIn("different", done.stdout)
        self.assertNotIn("unreadable", done.stdout)

    def test_secrets_of_an_object_stay_out_of_the_decision_log(self):
        thing = obj("job", 3)
        thing["spec"]["template"]["spec"]["containers"][1]["env"] = [{"name": "WANDB_API_KEY", "value": "s3cr3t-value"}]
        self.enforce.review(thing, uid="log-secret")
        [line] = self.enforce.decisions("request_id", "log-secret")
        self.assertIn("WANDB_API_KEY", line["request_withheld"])
        self.assertNotIn("s3cr3t-value", (self.enforce.root / "decisions").read_text())
        self.assertNotIn("s3cr3t-value", (self.enforce.root / "log").read_text())

    def test_gpu_of_the_node_selector_is_judged(self):
        # FP8 needs a Hopper GPU or newer; the object says which GPUs it will get.
        thing = obj("pytorchjob")
        for replica in thing["spec"]["pytorchReplicaSpecs"].values():
            replica["template"]["spec"]["nodeSelector"] = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}
            replica["template"]["spec"]["containers"][0]["args"][0] = (
                replica["template"]["spec"]["containers"][0]["args"][0].replace("--bf16", "--bf16 --fp8-format hybrid"))
        old = self.warn.review(thing)
        for replica in thing["spec"]["pytorchReplicaSpecs"].values():
            replica["template"]["spec"]["nodeSelector"] = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
        new = self.warn.review(thing)
        self.assertNotEqual(old["auditAnnotations"].get("rules"), new["auditAnnotations"].get("rules"))

    def test_what_runs_already_stays_changeable(self):
        labelled = obj("job", 3)
        labelled["metadata"]["labels"] = {"team": "a"}
        for operation, more in (("UPDATE", {"oldObject": labelled}), ("DELETE", {}), ("CONNECT", {})):
            answer = self.enforce.review(obj("job", 3), operation, **more)
            self.assertTrue(answer["allowed"])
            self.assertEqual(answer["auditAnnotations"]["verdict"], "not_judged")

    def test_an_update_of_the_launch_is_judged(self):
        for more in ({"oldObject": obj("job", 2)}, {}):
            self.assertFalse(self.enforce.review(obj("job", 3), "UPDATE", **more)["allowed"])
        self.assertTrue(self.enforce.review(obj("job", 2), "UPDATE", oldObject=obj("job", 3))["allowed"])

    def test_a_variable_that_stands_for_gigabytes_is_not_judged(self):
        thing = obj("job", 3)
        container = thing["spec"]["template"]["spec"]["containers"][1]
        container["env"] = [{"name": "A", "value": "x" * 100_000}]
        for words in (["python", "train.py", "$(A)" * 100_000], ["python", "train.py", "$(" * 300_000],
                      ["python", "train.py", *["$(A)"] * 100_000]):
            container["command"], container["args"] = words, []
            answer = self.enforce.review(thing)  # they were minutes, longer than this waits for an answer, and 4.3 GiB
            self.assertTrue(answer["allowed"])
            self.assertEqual(answer["auditAnnotations"]["verdict"], "not_judged")
        self.assertLess(peak_mib(self.enforce.process.pid), 512)

    def test_what_could_not_be_read_by_mode_as_with_slurm(self):
        trainer = obj("job", 3)["spec"]["template"]["spec"]["containers"][1]
        launch = " ".join(trainer["command"] + trainer["args"])

        def line(text):
            thing = obj("job", 3)
            container = thing["spec"]["template"]["spec"]["containers"][1]
            container["command"], container["args"] = ["bash", "-c", text], []
            return thing

        # Every one of them would fail. The door reads a launch, and the answer reads it again: where the work of a review ends
        # with the first, with the second, or not at all.
        slow = {f"{n} commands": line(f"x={'a' * 2000}\nfor i in " + "1 " * n + "; do y=${x:0:1}; done\n" + launch)
                for n in (6_000, *range(9_000, 17_000, 1_000), 24_000, 48_000)}
        large = {"more than 512 KiB": line("# " + "x" * (600 << 10) + "\n" + launch), "a NUL": line(launch + " \0"), "a NUL in a word": line(launch + " --save /a\0b"),
                 "an argument that is too long": line(launch + " --data-path " + "x" * 200_000)}
        closed = Door(FLIGHTPLAN, "enforce", "--webhook_fail_closed")
        self.addCleanup(closed.close)
        verdicts = set()
        for name, thing in {**slow, **large}.items():
            with self.subTest(name):
                answer = closed.review(thing)
                verdicts.add(answer["auditAnnotations"]["verdict"])
                self.assertFalse(answer["allowed"], answer)
                if "NUL" not in name and answer["auditAnnotations"]["verdict"] == "refused":
                    continue
                self.assertEqual(answer["auditAnnotations"]["verdict"], "not_judged")
                self.assertEqual(answer["status"]["code"], 403)
                self.assertIn("flightplan could not check this job: ", answer["status"]["message"])
                for door in (self.enforce, self.warn):
                    told = door.review(thing)
                    self.assertTrue(told["allowed"])
                    self.assertIn("flightplan could not check this job: ", told["warnings"][0])
                self.assertNotIn("warnings", self.shadow.review(thing))
        self.assertEqual(verdicts, {"refused", "not_judged"})
        # What is no training that is known is let through.
        self.assertTrue(closed.review({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {}})["allowed"])
        self.assertTrue(closed.review(line("python serve.py"))["allowed"])

    def test_dry_run_is_the_same(self):
        self.assertFalse(self.enforce.review(obj("job", 3), dryRun=True)["allowed"])

    def not_judged(self, thing, why):
        answer = self.enforce.review(thing)
        self.assertTrue(answer["allowed"], answer)
        self.assertEqual(answer["auditAnnotations"]["verdict"], "not_judged", answer)
        self.assertIn(why, answer["auditAnnotations"]["reason"])

    def test_what_lies_elsewhere_is_not_judged(self):
        container = lambda thing: thing["spec"]["template"]["spec"]["containers"][1]  # noqa: E731
        thing = obj("job", 3)
        container(thing)["command"] = ["bash", "/config/launch.sh"]  # of a config map
        container(thing)["args"] = []
        self.not_judged(thing, "no command in it runs a Python file")
        thing = obj("job", 3)
        del thing["spec"]["template"]["spec"]["containers"][0], container
        del thing["spec"]["template"]["spec"]["containers"][0]["command"], thing["spec"]["template"]["spec"]["containers"][0]["args"]
        self.not_judged(thing, "entry point")
        thing = obj("trainjob", 3)
        del thing["spec"]["trainer"]["command"], thing["spec"]["trainer"]["args"]
        self.not_judged(thing, "training runtime")
        self.not_judged({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {}}, "no launch is read from Deployment")

    def test_a_value_from_a_secret_is_unknown_and_refuses_nothing(self):
        thing = obj("pytorchjob", 3)
        for replica in thing["spec"]["pytorchReplicaSpecs"].values():
            replica["template"]["spec"]["containers"][0]["env"] = [
                {"name": "TP", "valueFrom": {"configMapKeyRef": {"name": "sizes", "key": "tp"}}},
                {"name": "CUDA_DEVICE_MAX_CONNECTIONS", "value": "1"}]
        self.assertTrue(self.enforce.review(thing)["allowed"])

    def test_missing_counts_are_not_judged(self):
        thing = obj("trainjob", 2)
        thing["spec"]["trainer"]["args"] = [a.replace("4096", "4224").replace("32", "33") if a in ("32", "4096") else a
                                            for a in thing["spec"]["trainer"]["args"]]
        del thing["spec"]["trainer"]["resourcesPerNode"], thing["spec"]["trainer"]["numNodes"]
        answer = self.enforce.review(thing)
        self.assertNotIn("world-divisible", json.dumps(answer))

    def test_malformed_objects_are_not_judged(self):
        for spec in (None, [], "x", {"template": []}, {"template": {"spec": {"containers": {"a": 1}}}},
                     {"template": {"spec": {"containers": [None, 3, {"command": "x.py", "args": {"a": []}}]}}},
                     {"parallelism": -4, "template": {"spec": {"containers": [{"command": ["python", "x.py"]}]}}}):
            answer = self.enforce.review({"apiVersion": "batch/v1", "kind": "Job", "spec": spec})
            self.assertTrue(answer["allowed"])
            self.assertEqual(answer["auditAnnotations"]["verdict"], "not_judged")

    def test_hostile_text_is_not_run(self):
        owned = self.enforce.root / "owned"
        thing = obj("job", 2)
        thing["spec"]["template"]["spec"]["containers"][1]["args"] += [f"$(touch {owned})", f"`touch {owned}`", f"; touch {owned}",
                                                                       "\u0000", "\x1b[2J"]
        self.enforce.review(thing)
        self.assertFalse(owned.exists())

    def test_bad_reviews_get_400_and_the_server_lives(self):
        before = self.enforce.count("failed")
        bad = [b"", b"{", b"null", b"[]", b"\x00\xff" * 100, b'{"kind": "AdmissionReview"}',
               b'{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {}}', b"[" * 1_000_000]
        for body in bad:
            self.assertEqual(self.enforce.post(body)[0], 400, body[:40])
        self.assertEqual(self.enforce.count("failed"), before + len(bad))
        try:
            self.assertEqual(self.enforce.post(b"x" * (10 << 20))[0], 413)
        except (ssl.SSLError, OSError):
            pass  # the connection may end before all of it is sent
        self.assertEqual(self.enforce.post({}, "/other")[0], 404)
        self.assertTrue(self.enforce.review(obj("job", 2))["allowed"])

    def test_a_number_with_an_exponent_that_wraps_is_a_number(self):
        """CVE-2024-38517: it made RapidJSON read outside a table, which was the end of the server."""
        for number in ("1.12345678901e-2147483639", "0.00000000001e-2147483647", "1." + "1" * 4000 + "e-2147483639"):
            status, text = self.warn.post(b'{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "n": %s}' % number.encode())
            self.assertEqual(status, 400, text)
        self.warn.review(obj("job"))

    def test_a_review_ends_when_the_api_server_has_gone(self):
        """Over TLS, whether it says good-bye or not."""
        thing = obj("job", 3)
        container = thing["spec"]["template"]["spec"]["containers"][1]
        container["command"], container["args"] = ["bash", "-c", DEAR_SCRIPT], []

        def reason(number, wait):
            request = {"uid": f"gone-{number}", "operation": "CREATE", "namespace": "a", "name": "a", "object": thing}
            body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()
            raw = socket.create_connection(("127.0.0.1", self.warn.webhook), 10)
            with self.warn.context.wrap_socket(raw, server_hostname="127.0.0.1") as tls:
                tls.sendall(b"POST /admission/v1/validate HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
                if wait:
                    tls.recv(65536)
                elif number % 2:
                    tls.setblocking(False)
                    with contextlib.suppress(OSError):  # it does not wait for the answer to its good-bye
                        tls.unwrap()
            line, = self.warn.decisions("request_id", request["uid"])
            self.assertEqual(line["door_verdict"], "not_judged")
            return line["door_reason"]

        gone = "the API server no longer waits for it"
        for number in range(9):
            self.assertIn("too much work", reason(number, True))
        # On a busy machine it may be noticed late, after the review's own end: one of many is enough.
        for parity in (0, 1):
            self.assertTrue(any(reason(number, False) == gone for number in range(100 + parity, 180, 2)))

    def test_plain_http_gets_no_answer(self):
        with self.assertRaises(OSError):
            with socket.create_connection(("127.0.0.1", self.enforce.webhook), 10) as plain:
                plain.sendall(b"POST /admission/v1/validate HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
                if not plain.recv(100).startswith(b"HTTP/1.1 200"):
                    raise OSError("no answer")

    def test_a_release_of_no_stack_is_refused_at_the_start(self):
        for check in ([], ["--check_config"]):
            done = subprocess.run([FLIGHTPLAN, "serve", "--stack_releases=megatron-ml@0.17", "--webhook_listen=127.0.0.1:0",
                                   "--webhook_cert_file=c", "--webhook_key_file=k", *check], capture_output=True, timeout=30)
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"stack_releases is 'megatron-ml@0.17', must be of a known stack; nearest is megatron-lm", done.stderr)

    def test_manifest_sends_what_the_webhook_reads(self):
        documents = list(yaml.safe_load_all(MANIFEST.read_text()))
        hook = next(d for d in documents if d["kind"] == "ValidatingWebhookConfiguration")["webhooks"][0]
        self.assertEqual((hook["failurePolicy"], hook["sideEffects"], hook["timeoutSeconds"]), ("Ignore", "None", 2))
        self.assertEqual(hook["clientConfig"]["service"]["path"], "/admission/v1/validate")
        sent = {(group, version, resource) for rule in hook["rules"] for group in rule["apiGroups"] for version in rule["apiVersions"]
                for resource in rule["resources"]}
        plural = {"Job": "jobs", "PyTorchJob": "pytorchjobs", "TrainJob": "trainjobs", "JobSet": "jobsets", "RayJob": "rayjobs",
                  "MPIJob": "mpijobs"}
        # MPIJob is v1 of Kubeflow's training operator, and v2beta1 of its MPI operator.
        older = {**obj("mpijob", 3), "apiVersion": "kubeflow.org/v1"}
        self.assertFalse(self.enforce.review(older)["allowed"])
        self.assertEqual(sent, {(*o["apiVersion"].split("/"), plural[o["kind"]]) for o in [*map(obj, OBJECTS), older]})
        self.assertTrue(all(rule["operations"] == ["CREATE", "UPDATE"] for rule in hook["rules"]))


if __name__ == "__main__":
    unittest.main()
