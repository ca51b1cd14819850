#!/usr/bin/env python3
"""The GitHub Action: what action.yml declares and uses, and its steps, run as a runner runs them. The step of GitHub's own
that shows findings is not run. Needs no network: the wheel is a stand-in that calls the program under test.

usage: action_test.py FLIGHTPLAN_BINARY
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import yaml
from stand_in import LAUNCH, ROOT, VERSION, write_wheel

FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))
TEXT = (ROOT / "action.yml").read_text()
ACTION = yaml.safe_load(TEXT)
STEPS = ACTION["runs"]["steps"]
SHELL = [step for step in STEPS if "run" in step]


class Definition(unittest.TestCase):
    def test_inputs_that_are_used_are_declared_and_the_other_way_round(self):
        self.assertEqual(set(re.findall(r"\$\{\{ inputs\.([a-z-]+) \}\}", TEXT)), set(ACTION["inputs"]))
        for name, told in ACTION["inputs"].items():
            self.assertTrue(told["description"] and isinstance(told["default"], str), name)

    def test_outputs_of_steps_that_are_used_are_written(self):
        for step, output in re.findall(r"\$\{\{ steps\.(\w+)\.outputs\.(\w+) \}\}", TEXT):
            script = next(one["run"] for one in SHELL if one.get("id") == step)
            self.assertIn(f'echo "{output}=', script)

    def test_nothing_of_a_caller_is_put_into_a_script(self):
        for step in SHELL:
            self.assertNotIn("${{", step["run"], step["name"])

    def test_other_actions_are_pinned_by_commit(self):
        used = [step["uses"] for step in STEPS if "uses" in step]
        self.assertEqual(len(used), 1)
        self.assertRegex(used[0], r"^github/codeql-action/upload-sarif@[0-9a-f]{40}$")

    def test_scripts_are_bash(self):
        for step in SHELL:
            self.assertEqual(step["shell"], "bash")
            subprocess.run(["bash", "-n", "-c", step["run"]], check=True)


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)
        self.user = self.work / "user"
        (self.user / "jobs").mkdir(parents=True)
        (self.work / "temp").mkdir()
        (self.work / "bin").mkdir()
        (self.work / "bin/flightplan").symlink_to(FLIGHTPLAN)

    def launch(self, name, tp):
        (self.user / name).write_text(LAUNCH.format(tp=tp))

    def step(self, index, outputs=None, **inputs):
        """Runs a script with the environment that the runner makes; the process and what it wrote as outputs."""
        step = SHELL[index]
        known = {**{name: told["default"] for name, told in ACTION["inputs"].items()},
                 **{name.replace("_", "-"): value for name, value in inputs.items()}}

        def value(text):
            text = re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda match: known[match.group(1)], text)
            return re.sub(r"\$\{\{ steps\.\w+\.outputs\.(\w+) \}\}", lambda match: (outputs or {}).get(match.group(1), ""), text)

        written, path = self.work / "outputs", self.work / "path"
        written.write_text("")
        path.write_text("")
        environment = {**os.environ, "PATH": f"{self.work / 'bin'}:{os.environ['PATH']}", "GITHUB_OUTPUT": str(written),
                       "GITHUB_PATH": str(path), "GITHUB_ACTION_PATH": str(ROOT), "RUNNER_TEMP": str(self.work / "temp"),
                       "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.work / "wheels"),
                       **{name: value(text) for name, text in step["env"].items()}}
        done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], cwd=self.user,
                              env=environment, capture_output=True, text=True)
        done.outputs = dict(line.split("=", 1) for line in written.read_text().splitlines())
        done.path = path.read_text().strip()
        return done

    def judged(self, **inputs):
        """Exit code of the two steps that judge and fail, and the SARIF log."""
        done = self.step(1, **inputs)
        if done.returncode != 0:
            return done.returncode, None
        end = self.step(2, done.outputs, **inputs)
        return end.returncode, json.loads(pathlib.Path(done.outputs["sarif"]).read_text())

    def test_it_installs_its_own_release_and_says_when_there_is_none(self):
        (self.work / "wheels").mkdir()
        missing = self.step(0)
        self.assertEqual(missing.returncode, 1)
        self.assertIn(f"::error::flightplan {VERSION} could not be installed", missing.stdout)
        write_wheel(self.work / "wheels", FLIGHTPLAN)
        self.assertIn("flightplan 9.9.9 could not", self.step(0, version="9.9.9").stdout)
        done = self.step(0)
        self.assertEqual(done.returncode, 0, done.stderr)
        installed = subprocess.run([f"{done.path}/flightplan", "version"], check=True, capture_output=True, text=True).stdout
        self.assertIn(f"flightplan {VERSION}", installed)

    def test_it_fails_by_what_is_found(self):
        self.launch("jobs/good.sh", 2)
        self.assertEqual(self.judged()[0], 0)
        self.launch("jobs/bad one.sh", 3)
        code, log = self.judged()
        self.assertEqual(code, 1)
        self.assertEqual(log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
                         "jobs/bad%20one.sh")
        self.assertEqual(self.judged(fail_on="never")[0], 0)
        self.assertEqual(self.judged(paths="jobs/good.sh\n")[0], 0)

    def test_a_file_that_cannot_be_read_fails_after_the_others_are_shown(self):
        self.launch("jobs/bad.sh", 3)
        self.launch("jobs/good.sh", 2)
        for paths, results in (("jobs missing.sh", True), ("jobs/good.sh missing.sh", False)):
            code, log = self.judged(paths=paths)
            self.assertEqual((code, bool(log["runs"][0]["results"])), (1, results), paths)
        self.assertEqual(self.judged(paths="jobs/good.sh missing.sh", fail_on="never")[0], 0)

    def test_warnings_fail_where_they_are_asked_for(self):
        # Allowed, with a warning: the count of GPUs is only the script's default.
        (self.user / "jobs/warned.sh").write_text(
            LAUNCH.format(tp=2).replace("--nnodes 2 --nproc-per-node 8", "--nnodes ${NNODES:-1} --nproc-per-node 3"))
        self.assertEqual(self.judged()[0], 0)
        code, log = self.judged(fail_on="warning")
        self.assertEqual((code, {result["level"] for result in log["runs"][0]["results"]}), (1, {"warning"}))

    def test_flags_are_passed_on(self):
        self.launch("jobs/a.sh", 2)
        log = self.judged(args="--release  megatron-lm@0.17", gpu="h100-sxm", gpus="16")[1]
        self.assertEqual(log["version"], "2.1.0")
        for inputs in ({"args": "--no-such-flag"}, {"gpu": "no-such-gpu"}, {"gpus": "many"}, {"paths": "@missing"},
                       {"fail_on": "sometimes"}):
            with self.subTest(inputs):
                self.assertEqual(self.judged(**inputs)[0], 2)

    def test_nothing_of_a_caller_is_run(self):
        self.launch("jobs/a.sh", 2)
        owned = self.work / "owned"
        for name in ACTION["inputs"]:
            if name != "version":
                self.judged(**{name.replace("-", "_"): f"$(touch {owned}); touch {owned} `touch {owned}`"})
        self.assertFalse(owned.exists())


if __name__ == "__main__":
    unittest.main()
