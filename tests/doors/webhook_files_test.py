#!/usr/bin/env python3
"""The Kubernetes door and the files that it is given: a catalogue that is read again, a key that it cannot use.

usage: webhook_files_test.py FLIGHTPLAN_BINARY
"""
import os
import pathlib
import shutil
import signal
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


if __name__ == "__main__":
    unittest.main()
