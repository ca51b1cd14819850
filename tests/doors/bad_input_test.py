#!/usr/bin/env python3
"""Every command and hook that reads a file of a user, given what is none: refused in words or not judged, never executed,
never a crash, never a hang. In process and by a server.

usage: bad_input_test.py FLIGHTPLAN_BINARY
"""
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))
SECONDS = 60  # until a command counts as hung, on the slowest machine

FLAGS = ("--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 "
         "--micro-batch-size 1 --global-batch-size 128 --bf16 --train-iters 10 --lr 1e-4 --mock-data --tokenizer-type "
         "NullTokenizer --vocab-size 32000")

# What reads a file, as a command with FILE in it; and whether it is a door, which judges or does not, but never fails.
COMMANDS = {
    "validate": ("validate FILE", False),
    "validate, any release": ("validate FILE --all-versions", False),
    "fix": ("fix FILE", False),
    "convert": ("convert FILE --from megatron-lm --to megatron-bridge", False),
    "diff": ("diff FILE FILE", False),
    "a model's file": ("resolve --model FILE --gpu h100-sxm --gpus 8", False),
    "a probe's profile": ("resolve --model qwen3-30b-a3b --gpu h100-sxm --gpus 16 --tp 1 --pp 1 --ep 8 --profile FILE", False),
    "Slurm": ("validate --slurm-script FILE --door-mode enforce --job nodes=2 --job gpus-per-node=8", True),
    "batch": ("validate --batch FILE --format jsonl", True),
}
# These have nothing to do with a server, or name it otherwise.
LOCAL_COMMANDS = {
    "import of a model": "models --import FILE",
    "import of a profile": "probe --import FILE",
    "replay": "replay FILE",
    "import of evidence": "evidence import FILE --evidence-store sqlite:evidence.db",
}
# Files that the program finds by itself or by a setting, as a command with FILE in it; in LINK the file is one of a folder.
SETTINGS = {
    "a site's catalogue": "gpus --catalog-dir LINK",
    "settings": "serve --check_config --config FILE",
    "tokens": "serve --check_config --token_file FILE",
    "quotas": "serve --check_config --token_file tokens.yaml --quota_file FILE",
    "the server's catalogue": "serve --check_config --catalog_dir LINK",
    "a certificate": "serve --check_config --tls_cert_file FILE --tls_key_file FILE",
    "a probe to replay": "probe --fake FILE",
    "a run's log": "observe FILE",
    "a run's launch": "observe - --launch FILE",
}
MISUSE, NO_ANSWER = 2, 3  # exit codes; 0 and 1 are judgements


def hostile(owned):
    """Everything that a shell would run, in every place where a reader might be tempted to."""
    touch = f"touch {owned}"
    return (f"#!/bin/bash\n#SBATCH --nodes=$({touch})\n#SBATCH --job-name=`{touch}`\n{touch}\n$({touch})\n`{touch}`\n"
            f"eval '{touch}'\nbash -c \"{touch}\"\nsource <({touch})\ntrap '{touch}' EXIT\nA=$({touch})\nB=${{X:-$({touch})}}\n"
            f"C=$((`{touch}; echo 1`))\ncat <<END\n$({touch})\nEND\ntest -e x && {touch} || {touch}; {touch} &\n"
            f"torchrun --nnodes $({touch}) --nproc-per-node 8 pretrain_gpt.py {FLAGS} --save \"$({touch})\" --save-interval 10 "
            f"--load '; {touch}' --tensor-model-parallel-size ${{A:-`{touch}`}} | tee >({touch})\n")


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = pathlib.Path(folder.name)
        (cls.root / "tokens.yaml").write_text("tokens: []\n")
        cls.socket = cls.root / "s.sock"
        cls.server = subprocess.Popen([FLIGHTPLAN, "serve", f"--listen=unix:{cls.socket}", "--http_listen=", "--drain_delay=0s"],
                                      stderr=subprocess.DEVNULL)
        cls.addClassCleanup(cls.stop)
        for _ in range(400):
            if cls.socket.exists():
                break
            time.sleep(0.05)

    @classmethod
    def stop(cls):
        cls.server.terminate()
        cls.server.wait(30)

    def file(self, name, content):
        path = self.root / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def run_command(self, words, path, **options):
        command = [FLIGHTPLAN, *(str(path) if word == "FILE" else word for word in words.split())]
        environment = {**os.environ, "FLIGHTPLAN_PROFILE_DIR": str(self.root / "profiles"), "X": "", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(command, cwd=self.root, capture_output=True, timeout=SECONDS, env=environment,
                              **{"stdin": subprocess.DEVNULL, **options})
        self.assertGreaterEqual(done.returncode, 0, f"{command}: ended by {signal.Signals(-min(done.returncode, 0) or 1)}")
        self.assertEqual(self.server.poll(), None, f"{command}: the server ended")
        return done

    def each_command(self):
        for name, (words, door) in COMMANDS.items():
            for where in ("", f" --server unix:{self.socket}"):
                yield name + where[:9], words + where, door
        for name, words in LOCAL_COMMANDS.items():
            yield name, words, False

    def verdict(self, name, done):
        # A batch goes on, and tells by its exit code that a file it was given by name was not read.
        unread = name.startswith("batch") and b"not judged: " in done.stderr
        self.assertIn(done.returncode, (MISUSE,) if unread else (0, 1), done.stderr)
        if name.startswith("Slurm"):
            return done.stdout.decode().split()[0]
        return json.loads(done.stdout.splitlines()[0])["verdict"]

    def refused_in_words(self, path):
        for name, words, door in self.each_command():
            with self.subTest(name, path=path.name):
                done = self.run_command(words, path)
                named = name.startswith("batch") and not path.exists()  # a slip on the command line, as for any command
                if door and not named:
                    self.assertEqual(self.verdict(name, done), "not_judged", done.stdout)
                else:
                    self.assertEqual(done.returncode, MISUSE, done.stdout + done.stderr)
                    self.assertIn(path.name, done.stderr.decode())

    def test_what_cannot_be_read(self):
        (self.root / "folder").mkdir()
        self.refused_in_words(self.root / "missing")
        self.refused_in_words(self.root / "missing" / "deeper")
        for name, words, door in self.each_command():
            if not name.startswith("batch"):  # which reads what is in it
                with self.subTest(name):
                    done = self.run_command(words, self.root / "folder")
                    self.assertIn("is a folder", (done.stdout + done.stderr).decode())

    def test_what_is_too_large_or_never_ends(self):
        large = self.file("large.sh", f"torchrun pretrain_gpt.py {FLAGS}\n# " + "x" * (10 << 20) + "\n")
        endless = self.root / "endless.sh"
        endless.symlink_to("/dev/zero")
        for path in (large, endless):
            for name, words, door in self.each_command():
                with self.subTest(name, path=path.name):
                    done = self.run_command(words, path)
                    if door:
                        self.assertEqual(self.verdict(name, done), "not_judged")
                    else:
                        self.assertEqual(done.returncode, MISUSE, done.stdout)
                        self.assertIn("larger than", done.stderr.decode())

    def pipe(self):
        """A named pipe that nobody writes to."""
        path = self.root / "pipe.sh"
        if not path.exists():
            os.mkfifo(path)
        return path

    def test_a_named_pipe_is_no_file(self):
        path = self.pipe()
        for name, words, door in self.each_command():
            with self.subTest(name):
                done = self.run_command(words, path)
                named = name.startswith("batch") and not path.exists()  # a slip on the command line, as for any command
                if door and not named:
                    self.assertEqual(self.verdict(name, done), "not_judged")
                else:
                    self.assertEqual(done.returncode, MISUSE, done.stdout)
                    self.assertIn("pipe.sh is a named pipe, not a file", done.stderr.decode())

    def test_settings_that_never_begin_or_end(self):
        for file, said in ((self.pipe(), "is a named pipe, not a file"), (pathlib.Path("/dev/zero"), "/dev/zero")):
            folder = self.root / f"site-of-{file.name}"
            folder.mkdir()
            (folder / "site.yaml").symlink_to(file)
            for name, words in SETTINGS.items():
                with self.subTest(name, file=file.name):
                    done = self.run_command(words.replace("LINK", str(folder)), file,
                                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30)))
                    self.assertEqual(done.returncode, MISUSE, done.stderr)
                    self.assertIn("site.yaml" if "LINK" in words else said, done.stderr.decode())
        (self.root / "profiles").mkdir()
        (self.root / "profiles/p.json").symlink_to(self.pipe())
        site = self.root / "usr/lib/python3/dist-packages/torch-2.8.dist-info"
        site.mkdir(parents=True)
        (site / "METADATA").symlink_to(self.pipe())
        for words in ("probe --list", f"fingerprint --root {self.root}"):  # which pass over what they cannot read
            with self.subTest(words):
                self.assertEqual(self.run_command(words, self.pipe()).returncode, 0)
        (self.root / "profiles/p.json").unlink()

    def test_certificates_that_never_end(self):
        for variable in ("FLIGHTPLAN_CA_FILE", "FLIGHTPLAN_CERT_FILE", "FLIGHTPLAN_KEY_FILE"):
            for file, said in (("/dev/zero", "larger than 1 MiB"), (str(self.pipe()), "is a named pipe"), ("/missing", "cannot read")):
                with self.subTest(variable, file=file):
                    os.environ.update({"FLIGHTPLAN_CA_FILE": "/etc/hostname", variable: file})
                    self.addCleanup(os.environ.pop, variable, None)
                    self.addCleanup(os.environ.pop, "FLIGHTPLAN_CA_FILE", None)
                    done = self.run_command("gpus --server 127.0.0.1:1", file)
                    self.assertEqual(done.returncode, MISUSE)
                    self.assertIn(f"{variable}: ", done.stderr.decode())
                    self.assertIn(said, done.stderr.decode())
                    os.environ.pop(variable)

    def test_lines_that_never_end(self):
        for words in ("evidence import - --evidence-store sqlite:evidence.db", "replay -"):
            for source, said in (("yes ''", "lines"), ("yes", "lines"), ("cat /dev/urandom", "lines"), ("cat /dev/zero", "line 1 is larger than")):
                with self.subTest(words, source=source):
                    writer = subprocess.Popen(["sh", "-c", f"exec {source}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                    done = self.run_command(words, "-", stdin=writer.stdout,
                                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)))
                    writer.stdout.close()
                    writer.wait(30)
                    self.assertEqual(done.returncode, MISUSE, done.stderr[-300:])
                    self.assertIn(said, done.stderr.decode())
                    self.assertLess(len(done.stderr), 1 << 20)

    def test_pipes_of_a_shell_are_read(self):
        launch = f"torchrun pretrain_gpt.py {FLAGS}"
        done = subprocess.run(["bash", "-c", f"'{FLIGHTPLAN}' validate <(sleep 0.2; echo '{launch}'); "
                               f"echo '{launch}' | '{FLIGHTPLAN}' validate /dev/stdin"], capture_output=True, timeout=SECONDS)
        self.assertEqual(done.stdout.count(b"accepted") + done.stdout.count(b"rejected"), 2, done.stdout + done.stderr)

    def test_what_is_no_text(self):
        program = self.file("binary.sh", pathlib.Path("/bin/sh").read_bytes()[:100_000])
        nul = self.file("nul.sh", f"torchrun pretrain_gpt.py {FLAGS}\0\n")
        latin = self.file("latin.sh", f"# caf\xe9\ntorchrun pretrain_gpt.py {FLAGS}\n".encode("latin-1"))
        empty = self.file("empty.sh", "")
        for path in (program, nul, latin, empty):
            for name, words, door in self.each_command():
                with self.subTest(name, path=path.name):
                    done = self.run_command(words, path)
                    self.assertLess(done.returncode, NO_ANSWER, done.stderr)
                    self.assertNotIn(b"libprotobuf", done.stderr)
                    if door:
                        self.assertEqual(self.verdict(name, done), "not_judged")
                    elif path in (program, nul, latin) and name not in ("replay", "import of evidence"):  # which refuse lines
                        self.assertEqual(done.returncode, MISUSE, done.stdout)
                        self.assertIn("is no text: line" if path == nul else "is no UTF-8 text: line", done.stderr.decode())

    def test_control_bytes_do_not_reach_the_terminal(self):
        path = self.file("escape.sh", f"torchrun pretrain_gpt.py {FLAGS} --\x1b[2J --save \x1b[2J\x07 \x1b[2J\n")
        for name, words, door in self.each_command():
            if not name.startswith("fix"):  # a diff is the user's own text, byte for byte
                with self.subTest(name):
                    done = self.run_command(words, path)
                    self.assertLess(done.returncode, NO_ANSWER, done.stderr)
                    self.assertNotIn(b"\x1b[2J", done.stdout + done.stderr)

    def test_what_a_shell_would_run(self):
        owned = self.root / "owned"
        path = self.file("hostile.sh", hostile(owned))
        for name, words, door in self.each_command():
            with self.subTest(name):
                done = self.run_command(words, path)
                self.assertLess(done.returncode, NO_ANSWER, done.stderr)
                self.assertFalse(owned.exists(), "it ran what the file says")
                if door:
                    self.assertIn(self.verdict(name, done), ("allowed", "warned", "not_judged"))

    def test_names_of_files_are_not_run_either(self):
        owned = self.root / "owned-by-name"
        path = self.file(f"$(touch owned-by-name);`touch owned-by-name`'\".sh", f"torchrun pretrain_gpt.py {FLAGS}\n")
        for name, words, door in self.each_command():
            with self.subTest(name):
                self.assertLess(self.run_command(words, path).returncode, NO_ANSWER)
                self.assertFalse(owned.exists())

    def test_missing_counts(self):
        # 33 heads and 4224 wide: wrong only for a world of eight, which nobody states.
        flags = FLAGS.replace("heads 32", "heads 33").replace("size 4096", "size 4224")
        path = self.file("sizeless.sh", f"export CUDA_DEVICE_MAX_CONNECTIONS=1\nsrun python pretrain_gpt.py {flags} "
                                        "--tensor-model-parallel-size 3\n")
        for words in ("validate FILE", "validate --batch FILE --format jsonl", "validate --slurm-script FILE --door-mode enforce"):
            with self.subTest(words):
                self.assertNotIn(b"mlm.world-divisible", self.run_command(words, path).stdout)

    def test_words_that_expand_without_end(self):
        path = self.file("deep.sh", "A=x\n" + "A=$A$A$A$A\n" * 64 + f"torchrun pretrain_gpt.py {FLAGS} --save $A\n" +
                         "bash -c \"bash -c '" * 40 + "(" * 10_000)
        for name, words, door in self.each_command():
            with self.subTest(name):
                self.assertLess(self.run_command(words, path).returncode, NO_ANSWER)

    def test_standard_input_that_is_closed_or_never_ends(self):
        for words in ("validate -", "validate --slurm-script - --door-mode enforce"):
            with self.subTest(words), open("/dev/zero", "rb") as endless:
                done = self.run_command(words, "-", stdin=endless)
                self.assertIn(b"larger than 1 MiB", done.stdout + done.stderr)
            with self.subTest(words, closed=True):
                done = self.run_command(words, "-", stdin=None, preexec_fn=lambda: os.close(0))
                self.assertLess(done.returncode, NO_ANSWER)


if __name__ == "__main__":
    unittest.main()
