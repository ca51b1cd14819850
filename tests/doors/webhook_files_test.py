#!/usr/bin/env python3
"""The Kubernetes door and the files that it is given: a catalogue that is read again.

usage: webhook_files_test.py FLIGHTPLAN_BINARY
"""
import os
import pathlib
import shutil
import signal
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


if __name__ == "__main__":
    unittest.main()
