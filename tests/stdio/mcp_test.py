#!/usr/bin/env python3
"""`flightplan mcp` as a process: lines of JSON in, lines of JSON out, with no library between. Also the skill: every command in
it is run, its quoted lines hold, and its eval cases are answered as they say.

usage: mcp_test.py FLIGHTPLAN_BINARY
UPDATE_GOLDEN=1: writes the lines that the skill quotes anew, where a figure or a word of them has changed. Read the diff, and
what the skill says about them, and build again: it is part of the program.
"""
import difflib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

from stdio_process import ENVIRONMENT, StdioProcess

FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))
ROOT = pathlib.Path(__file__).resolve().parents[2]
SKILL = ROOT / "clients/skills/flightplan"
PLAN = {"model": "deepseek-v3", "gpu": "h100-sxm", "gpus": 1024}


class Server(StdioProcess):
    def __init__(self, *flags):
        super().__init__(FLIGHTPLAN, "mcp", *flags)

    def send(self, message):
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.write(line + b"\n")

    def ask(self, number, method, params=None):
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}})
        return self.answer(number)

    def answer(self, number):
        """The next message with that id; others are kept in `seen`."""
        self.seen = []
        while True:
            message = json.loads(self.process.stdout.readline())
            if message.get("id") == number:
                return message
            self.seen.append(message)

    def call(self, number, tool, arguments, **more):
        return self.ask(number, "tools/call", {"name": tool, "arguments": arguments, **more})["result"]

    def close(self):
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


class Protocol(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.end)

    def test_a_whole_conversation(self):
        hello = self.server.ask(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                                  "clientInfo": {"name": "test", "version": "1"}})["result"]
        self.assertEqual(hello["protocolVersion"], "2025-06-18")
        self.server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        tools = self.server.ask(2, "tools/list")["result"]["tools"]
        self.assertEqual({tool["name"] for tool in tools}, {"resolve", "validate", "fix", "plan", "compare", "convert", "explain",
                                                            "models", "gpus", "releases"})
        answer = self.server.call(3, "resolve", {"model": "deepseek-v3", "gpu": "h100-sxm", "gpus": 1024, "tp": 2, "pp": 8,
                                                 "vpp": 4, "ep": 64})
        text = answer["content"][0]["text"]
        page = subprocess.run([FLIGHTPLAN, *"resolve --model deepseek-v3 --gpu h100-sxm --gpus 1024 --tp 2 --pp 8 --vpp 4 --ep 64"
                               .split()], capture_output=True, text=True, env=ENVIRONMENT).stdout
        self.assertEqual(text, page)  # the terminal's own page
        self.assertLess(len(text), 8192)
        self.assertLess(len(json.dumps(answer["structuredContent"])), 4096)
        self.assertIn(answer["structuredContent"]["digest"], page)
        self.assertEqual(self.server.ask(4, "ping")["result"], {})
        self.assertEqual(self.server.close(), (0, b"", b""))

    def test_whoever_breaks_the_rules_is_told(self):
        self.server.send(b"{no json")
        self.assertEqual(self.server.answer(None)["error"]["code"], -32700)
        self.server.send(b"\xff\xfe\x00")
        self.assertEqual(self.server.answer(None)["error"]["code"], -32700)
        self.server.send(b"x" * (9 << 20))
        self.assertEqual(self.server.answer(None)["error"]["code"], -32600)
        self.assertEqual(self.server.ask(1, "tools/run")["error"]["code"], -32601)
        self.assertEqual(self.server.ask(2, "tools/call", {"name": "shell", "arguments": {"command": "id"}})["error"]["code"], -32602)
        for path in ("/etc/passwd", "../../etc/passwd.json", "-"):
            answer = self.server.call(3, "resolve", {"model": path, "gpu": "h100-sxm", "gpus": 8})
            self.assertTrue(answer["isError"])
            self.assertIn("files are not read here", answer["content"][0]["text"])
        self.assertEqual(self.server.close()[0], 0)

    def test_a_search_is_cancelled_while_it_runs(self):
        params = {"name": "plan", "arguments": PLAN, "_meta": {"progressToken": 7}}
        self.server.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        while json.loads(self.server.process.stdout.readline()).get("method") != "notifications/progress":
            pass
        self.server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        self.server.ask(2, "ping")
        code, out, _ = self.server.close()
        self.assertEqual(code, 0)
        self.assertNotIn(b'"id":1,', out + json.dumps(self.server.seen).encode())

    def test_it_ends_when_nobody_listens_any_more(self):
        for number in range(8):
            self.server.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "plan", "arguments": PLAN}})
        self.server.process.stdout.close()
        self.server.process.stdin.close()
        self.assertEqual(self.server.process.wait(timeout=60), 0)

    def test_a_full_disk_is_said(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([FLIGHTPLAN, "mcp"], input=b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n', stdout=full,
                                  stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stderr), (5, b"flightplan mcp: cannot write standard output: No space left on device\n"))

    def test_a_server_that_is_not_there_is_said(self):
        server = Server("--server", "127.0.0.1:1")
        self.addCleanup(server.end)
        answer = server.call(1, "gpus", {})
        self.assertTrue(answer["isError"])
        self.assertIn("127.0.0.1:1", answer["content"][0]["text"])
        self.assertEqual(server.close()[0], 0)


def fences(text):
    return re.findall(r"^```(.*?)\n(.*?)^```$", text, re.M | re.S)


class Skill(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)
        done = subprocess.run([FLIGHTPLAN, "mcp", "--install-skill", self.work / "skills"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.text = (self.work / "skills/flightplan/SKILL.md").read_text()
        for title, body in fences(self.text):
            if " file=" in title:
                (self.work / title.split("file=")[1]).write_text(body)

    def test_what_is_installed_is_the_file_of_the_repository(self):
        self.assertEqual(self.text, (SKILL / "SKILL.md").read_text())
        head = self.text.split("---")[1]
        self.assertRegex(head, r"\nname: flightplan\n")
        self.assertLess(len(re.search(r"description: (.*)", head).group(1)), 1024)

    def test_its_commands_print_what_it_quotes(self):
        commands = 0
        for title, body in fences(self.text):
            if title != "console":
                continue
            for part in body.split("$ ")[1:]:
                command, *quoted = part.rstrip("\n").split("\n")
                words = shlex.split(command)
                self.assertEqual(words[0], "flightplan")
                done = subprocess.run([FLIGHTPLAN, *words[1:]], cwd=self.work, capture_output=True, text=True, env=ENVIRONMENT)
                lines = (done.stdout + done.stderr).split("\n")
                self.assertTrue(quoted, command)
                printed = [one.rstrip() for one in lines]
                for line in quoted:
                    if os.environ.get("UPDATE_GOLDEN") and line not in printed:
                        file = SKILL / "SKILL.md"
                        file.write_text(file.read_text().replace(line, difflib.get_close_matches(line, printed, 1, 0)[0]))
                    else:
                        self.assertIn(line, printed, command)
                commands += 1
        self.assertEqual(commands, 5)

    def test_it_names_what_is_there(self):
        server = Server()
        self.addCleanup(server.end)
        tools = {tool["name"]: tool for tool in server.ask(1, "tools/list")["result"]["tools"]}
        table = self.text.split("## What to ask")[1].split("## How")[0]
        for tool in tools:
            self.assertIn(f"`{tool}`", table)
        for name in ("gpu", "gpus", "target", "set"):
            self.assertIn(name, tools["validate"]["inputSchema"]["properties"])
        server.close()

    def test_its_eval_cases_hold(self):
        server = Server()
        self.addCleanup(server.end)
        for number, case in enumerate(json.loads((SKILL / "evals.json").read_text())):
            with self.subTest(case["id"]):
                arguments = {name: (self.work / value[1:]).read_text() if str(value).startswith("@") else value
                             for name, value in case["arguments"].items()}
                answer = server.call(number, case["tool"], arguments)
                self.assertEqual(answer["isError"], case.get("fails", False), answer)
                for path, expected in case.get("holds", {}).items():
                    value = answer["structuredContent"]
                    for step in path.split("."):
                        value = value[int(step) if step.isdigit() else step]
                    self.assertEqual(value, expected, path)
                rules = {finding["rule"] for finding in answer.get("structuredContent", {}).get("findings", [])}
                self.assertLessEqual(set(case.get("rules", [])), rules)
                for words in case.get("says", []):
                    self.assertIn(words, answer["content"][0]["text"])
        server.close()


if __name__ == "__main__":
    unittest.main()
