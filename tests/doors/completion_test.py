#!/usr/bin/env python3
"""Completion in a real shell: types the beginning of a word at a terminal of its own, presses the tab key, and looks at
the words that the shell then runs.

usage: completion_test.py FLIGHTPLAN_BINARY bash|zsh|fish
"""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

FLIGHTPLAN, SHELL = os.path.abspath(sys.argv[1]), sys.argv[2]
PATIENCE = 60  # seconds until a shell that says nothing counts as stuck

# How each shell starts without the settings of whoever runs the test, and loads the script.
START = {
    "bash": (["bash", "--norc", "--noprofile", "-i"],
             "bind 'set enable-bracketed-paste off'; source <(flightplan completion bash)"),
    "zsh": (["zsh", "-f", "-i"],
            "autoload -U compinit; compinit -D -u; bindkey -e; setopt no_auto_remove_slash; source <(flightplan completion zsh)"),
    "fish": (["fish", "--no-config", "-i"], "flightplan completion fish | source"),
}

# What is typed before the tab key, and the last word that it becomes.
TYPED = [
    ("flightplan va", "validate"),
    ("flightplan resolve --mo", "--model"),
    ("flightplan resolve --gpu gb300", "gb300-nvl72"),
    ("flightplan resolve --gpu=gb300", "--gpu=gb300-nvl72"),
    ("flightplan plan --model qwen3-30b", "qwen3-30b-a3b"),
    ("flightplan plan --model conf", "config.json"),
    ("flightplan resolve --stage=pro", "--stage=production"),
    ("flightplan resolve --capability deepep,hy", "deepep,hybridep"),
    ("flightplan resolve --target loong", "loongforge"),
    ("flightplan resolve --target megatron-bridge@m", "megatron-bridge@main"),
    ("flightplan resolve --set moe_token_dispatcher_ty", "moe_token_dispatcher_type="),
    ("flightplan resolve --set moe_token_dispatcher_type=fl", "moe_token_dispatcher_type=flex"),
    ("flightplan validate --unset moe_token_dispatcher_ty", "moe_token_dispatcher_type"),
    ("flightplan explain ep-overlap.torch", "ep-overlap.torch-2.6"),
    ("flightplan explain moe_token_dispatcher_ty", "moe_token_dispatcher_type"),
    ("flightplan rules --area cuda", "cuda-graph"),
    ("flightplan validate laun", "launch.sh"),
    ("flightplan validate --input-format bridge-y", "bridge-yaml"),
    ("flightplan fix --wri", "--write"),
    ("flightplan fingerprint --root fol", "folder/"),
    ("flightplan serve --webhook_mode enf", "enforce"),
    ("flightplan serve --config serv", "serve.yaml"),
    ("flightplan evidence exp", "export"),
    ("flightplan mcp --install", "--install-skill"),
    ("flightplan mcp --install-skill fol", "folder/"),
    ("flightplan schema bri", "bridge-yaml"),
    ("flightplan completion zs", "zsh"),
    ("flightplan help expl", "explain"),
    # After -- stand arguments of the launch.
    ("flightplan validate -- --inp", "--inp"),
]
# fish takes no flags after --.
TYPED_BUT_FISH = [("flightplan diff --gpus 8 -- --seq 1 -- --gb", "--gbs")]


class Terminal:
    """A shell on a terminal of its own."""

    def __init__(self, command, folder, environment):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)
        self.seen = ""

    def send(self, text):
        os.write(self.fd, text.encode())

    def read_until(self, pattern):
        """What the pattern matched; everything up to it is forgotten."""
        end = time.monotonic() + PATIENCE
        while True:
            match = re.search(pattern, self.seen)
            if match:
                self.seen = self.seen[match.end():]
                return match
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            try:
                more = os.read(self.fd, 65536) if ready else b""
            except OSError:
                more = b""
            if not more:
                raise SystemExit(f"{SHELL} ended or is stuck, and said: {self.seen[-2000:]!r}")
            self.seen += more.decode(errors="replace")
            if "\x1b[c" in self.seen:  # fish asks what terminal this is
                self.seen = self.seen.replace("\x1b[c", "")
                self.send("\x1b[?6c")

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def prepare(work):
    for name in ("config.json", "launch.sh", "folio.txt", "serve.yaml"):
        (work / name).write_text("")
    (work / "folder").mkdir()
    binaries = work / ".bin"
    binaries.mkdir()
    (binaries / "flightplan").symlink_to(FLIGHTPLAN)
    show = binaries / "show-words"
    show.write_text("#!/bin/sh\nfor word; do last=$word; done\nprintf '<<%s>>\\n' \"$last\"\n")
    show.chmod(0o755)
    return binaries


def main():
    if shutil.which(SHELL) is None:
        print(f"skipped: {SHELL} is not installed")
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        binaries = prepare(work)
        environment = {"PATH": f"{binaries}:{os.environ['PATH']}", "HOME": folder, "TERM": "vt100", "LANG": "C.UTF-8",
                       "INPUTRC": "/dev/null", "FLIGHTPLAN_PROFILE_DIR": f"{folder}/none"}
        command, load = START[SHELL]
        subprocess.run([SHELL, "-n", "-c", subprocess.run([FLIGHTPLAN, "completion", SHELL], check=True, text=True,
                                                          capture_output=True).stdout], check=True)
        terminal = Terminal(command, folder, environment)
        terminal.send(f"{load}\r")
        for typed, wanted in TYPED + (TYPED_BUT_FISH if SHELL != "fish" else []):
            # Then to the beginning of the line, where a command is put in front that shows its last word.
            terminal.send(f"{typed}\t\x01show-words \r")
            got = terminal.read_until(r"<<(.*)>>\r?\n").group(1)
            print("ok  " if got == wanted else "FAIL", f"{typed!r} becomes {got!r}", "" if got == wanted else f"not {wanted!r}")
            failed += got != wanted
        terminal.send("exit\r")
        terminal.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
