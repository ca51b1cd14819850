#!/usr/bin/env python3
"""The hook in a real pre-commit: it installs itself from this checkout, refuses a launch that would fail, and lets others
through. Needs no network: the wheel with the command is a stand-in that calls the program under test.

usage: pre_commit_test.py FLIGHTPLAN_BINARY
FLIGHTPLAN_WHEELS=FOLDER: take the wheel of this version from there, and what it depends on from the registry.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from stand_in import LAUNCH, ROOT, write_wheel

FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
TOOLS = CACHE / "flightplan/clients/pre-commit"
def lacking():
    """What is not there to run this test; empty: nothing."""
    if shutil.which("git") is None:
        return "git is not installed"
    if subprocess.run(["git", "-C", ROOT, "rev-parse"], capture_output=True).returncode != 0:
        return f"{ROOT} is no git checkout, from which pre-commit installs"
    if not (TOOLS / "wheels").is_dir():
        return "pre-commit is not set up: deploy/setup_clients.sh precommit"
    return ""


class PreCommit(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)
        wheels = self.work / "wheels"
        wheels.mkdir()
        self.environment = {
            **os.environ, "HOME": folder.name, "PRE_COMMIT_HOME": f"{folder.name}/home", "GIT_CONFIG_GLOBAL": "/dev/null",
            "PIP_FIND_LINKS": f"{TOOLS / 'wheels'} {wheels}",
            **{f"GIT_{who}_{what}": "test@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}}
        if "FLIGHTPLAN_WHEELS" in os.environ:
            self.environment["PIP_FIND_LINKS"] += f" {os.path.abspath(os.environ['FLIGHTPLAN_WHEELS'])}"
        else:
            self.environment["PIP_NO_INDEX"] = "1"
            write_wheel(wheels, FLIGHTPLAN)

    def run_in(self, folder, *command, code=0):
        done = subprocess.run(command, cwd=folder, env=self.environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, code, f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout

    def commit(self, folder):
        self.run_in(folder, "git", "init", "-q")
        self.run_in(folder, "git", "add", "-A")
        self.run_in(folder, "git", "commit", "-q", "-m", "as it is")
        return self.run_in(folder, "git", "rev-parse", "HEAD").strip()

    def checkout(self):
        """This checkout as it stands, committed or not, as a repository that pre-commit can clone."""
        copy = self.work / "flightplan"
        listed = self.run_in(ROOT, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        for name in listed.rstrip("\0").split("\0"):
            if (ROOT / name).is_file():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, copy / name)
        return copy, self.commit(copy)

    def test_it_installs_itself_and_refuses_what_would_fail(self):
        copy, revision = self.checkout()
        user = self.work / "user"
        (user / "jobs").mkdir(parents=True)
        (user / ".pre-commit-config.yaml").write_text(
            f"repos:\n  - repo: {copy}\n    rev: {revision}\n    hooks: [{{id: flightplan}}]\n")
        (user / "notes.md").write_text("no launch\n")
        (user / "jobs/good.sh").write_text(LAUNCH.format(tp=2))
        (user / "jobs/other.sh").write_text("echo hello\n")
        self.commit(user)
        pre_commit = str(TOOLS / "bin/pre-commit")
        passed = self.run_in(user, pre_commit, "run", "--all-files")
        self.assertRegex(passed, r"launch scripts that would be refused\.+Passed")
        (user / "jobs/bad.sh").write_text(LAUNCH.format(tp=3))
        self.run_in(user, "git", "add", "-A")
        refused = self.run_in(user, pre_commit, "run", code=1)  # of what is staged alone
        self.assertIn("Failed", refused)
        self.assertIn("jobs/bad.sh", refused)
        self.assertIn("1 file: 1 refused", refused)
        self.run_in(user, "git", "rm", "-q", "--cached", "jobs/bad.sh")
        self.assertIn("Skipped", self.run_in(user, pre_commit, "run", "--files", "notes.md"))


if __name__ == "__main__":
    if why := lacking():
        print(f"skipped: {why}")
        sys.exit(77)
    unittest.main()
