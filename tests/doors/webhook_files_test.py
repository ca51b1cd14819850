#!/usr/bin/env python3
"""The Kubernetes door and the files that it is given: a catalogue and certificates that are read again, keys that it
cannot use, callers whose certificates it asks for.

usage: webhook_files_test.py FLIGHTPLAN_BINARY
"""
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

from webhook import Door, obj

SKIPPED = 77
if shutil.which("openssl") is None:
    print("skipped: openssl is not installed")
    sys.exit(SKIPPED)

FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))
GPUS = pathlib.Path(__file__).parent / "../../resolver/catalog/gpus.yaml"


class WebhookFiles(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)

    def test_a_gpu_of_a_catalogue_that_is_read_again_is_known(self):
        door = Door(FLIGHTPLAN, "warn", f"--catalog_dir={self.root}")
        self.addCleanup(door.close)

        def rules(label):  # of FP8, which an A100 lacks
            thing = obj("pytorchjob")
            for replica in thing["spec"]["pytorchReplicaSpecs"].values():
                spec = replica["template"]["spec"]
                spec["nodeSelector"] = {"nvidia.com/gpu.product": label}
                spec["containers"][0]["args"][0] = spec["containers"][0]["args"][0].replace("--bf16", "--bf16 --fp8-format hybrid")
            return door.review(thing)["auditAnnotations"].get("rules")

        known = rules("NVIDIA-A100-SXM4-80GB")
        self.assertNotEqual(rules("site-ampere"), known)
        [a100] = [gpu for gpu in yaml.safe_load(GPUS.read_text())["gpus"] if gpu["name"] == "a100-sxm-80gb"]
        (self.root / "site.yaml").write_text(yaml.safe_dump({"gpus": [{**a100, "name": "site-ampere", "aliases": []}]}))
        door.process.send_signal(signal.SIGHUP)
        for _ in range(600):
            if rules("site-ampere") == known:
                break
            time.sleep(0.05)
        self.assertEqual(rules("site-ampere"), known)

    def test_a_key_with_a_passphrase_is_refused_without_a_question(self):
        Door.issue(self.root, "webhook")
        subprocess.run(["openssl", "pkey", "-aes256", "-passout", "pass:secret", "-in", self.root / "key.pem",
                        "-out", self.root / "closed.pem"], check=True, capture_output=True)
        # No terminal of whoever runs this; OpenSSL would ask by standard error then.
        done = subprocess.run([FLIGHTPLAN, "serve", f"--listen=unix:{self.root}/s.sock", "--http_listen=", "--check_config",
                               "--webhook_listen=127.0.0.1:0", f"--webhook_cert_file={self.root}/cert.pem",
                               f"--webhook_key_file={self.root}/closed.pem"], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=60, start_new_session=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(b"that needs no passphrase", done.stderr)
        self.assertNotIn(b"Enter", done.stderr)

    def test_a_new_certificate_needs_no_restart(self):
        door = Door(FLIGHTPLAN, "warn")
        try:
            self.assertTrue(door.review(obj("job"))["allowed"])
            old = door.context
            time.sleep(1.1)  # files are looked at once a second
            door.make_certificate("second")
            self.assertTrue(door.review(obj("job"))["allowed"])
            door.context = old
            with self.assertRaises(ssl.SSLCertVerificationError):
                door.review(obj("job"))
            time.sleep(1.1)
            (door.root / "cert.pem").unlink()
            (door.root / "cert.pem").write_text("not a certificate")
            door.context = ssl.create_default_context(cafile=door.root / "second/ca.pem")
            self.assertTrue(door.review(obj("job"))["allowed"])  # the old one stays
        finally:
            door.close()

    def test_only_the_api_server_may_ask_where_its_certificate_is_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            door = Door(FLIGHTPLAN, "enforce", f"--webhook_client_ca_file={folder}/ca.pem", authority=folder)
            try:
                with self.assertRaises((ssl.SSLError, ConnectionError)):
                    door.review(obj("job"))
                own = door.context
                own.load_cert_chain(f"{folder}/cert.pem", f"{folder}/key.pem")
                self.assertTrue(door.review(obj("job"))["allowed"])
                for role in ("webhook", "webhook_client_ca"):
                    self.assertGreater(door.metric(f'flightplan_tls_certificate_expiry_timestamp_seconds{{role="{role}"}}'), time.time())
                door.context = ssl.create_default_context(cafile=door.root / "first/ca.pem")
                door.context.load_cert_chain(door.root / "first/cert.pem", door.root / "first/key.pem")
                with self.assertRaises((ssl.SSLError, ConnectionError)):
                    door.review(obj("job"))  # a certificate, of another authority
            finally:
                door.close()

    def test_a_pair_that_does_not_belong_together_is_refused_at_the_start(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("cert.pem", "no certificate"), ("key.pem", "no key")):
                (pathlib.Path(folder) / name).write_text(text)
            for check in ([], ["--check_config"]):
                done = subprocess.run([FLIGHTPLAN, "serve", f"--listen=unix:{folder}/s.sock", "--http_listen=",
                                       "--webhook_listen=127.0.0.1:0", f"--webhook_cert_file={folder}/cert.pem",
                                       f"--webhook_key_file={folder}/key.pem", *check], capture_output=True, timeout=30)
                self.assertEqual(done.returncode, 2)
                self.assertIn(b"holds no PEM certificate chain", done.stderr)


if __name__ == "__main__":
    unittest.main()
