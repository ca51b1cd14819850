"""Launches of a training stack that its authors run, kept in tests/data/NAME.tar.gz: each is judged, and what its authors run is
not refused but for a reason that a table states."""
import json
import pathlib
import subprocess
import tarfile
import tempfile
import unittest

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"


class KeptLaunches(unittest.TestCase):
    flightplan = archive = None  # the binary; a file's name in tests/data

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.root = pathlib.Path(cls.temporary.name)
        with tarfile.open(DATA / cls.archive) as archive:
            archive.extractall(cls.root)
        cls.launches = sorted(path for path in cls.root.rglob("*.sh") if "/models/" not in str(path))
        cls.answers = {}

    def name(self, path):
        return str(path.relative_to(self.root))

    def ask(self, command, path, *args):
        return subprocess.run([self.flightplan, command, path, "--gpu", "h100-sxm", "--stack-root", self.root, *args],
                              capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)

    def judge(self, path, *args):
        """The answer for a launch; one that stands in the archive is asked once."""
        key = (path, args)
        if key not in self.answers:
            done = self.ask("validate", path, "--format", "json", *args)
            self.assertIn(done.returncode, (0, 1), done.stderr)
            answer = json.loads(done.stdout)
            if path not in self.launches:
                return answer
            self.answers[key] = answer
        return self.answers[key]

    @staticmethod
    def errors(answer):
        return [(f["rule_id"], f["seen"]) for f in answer["findings"] if f["severity"] == "SEVERITY_ERROR"]

    @staticmethod
    def value(answer, knob):
        for entry in answer["config"]:
            if entry["name"] == knob:
                return next(iter(entry["value"].values()), None)
        return None

    def assert_refused_as(self, refused, *args):
        """`refused`: the rule that refuses a launch, by its name; no other is refused."""
        for path in self.launches:
            with self.subTest(self.name(path)):
                errors = self.errors(self.judge(path, *args))
                if self.name(path) in refused:
                    self.assertIn(refused[self.name(path)], [rule for rule, _ in errors])
                else:
                    self.assertEqual(errors, [])
        self.assertLessEqual(set(refused), {self.name(path) for path in self.launches})
