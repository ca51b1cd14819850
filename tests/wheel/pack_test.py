#!/usr/bin/env python3
"""Packing and checking a wheel, with a made-up program: no build is needed."""
import csv
import hashlib
import io
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "deploy/wheel"))
import check_wheel  # noqa: E402
import pack  # noqa: E402


def elf(machine, text=b""):
    """A program of nothing but a header, which readelf reads."""
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0)
    return header + text


class Wheel(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "notices").write_text("zlib\n")

    def pack(self, program=elf(0x3E), out="out"):
        (self.folder / "program").write_bytes(program)
        digest = hashlib.sha256(program).hexdigest()
        (self.folder / "sbom").write_text(json.dumps({"metadata": {"component": {"hashes": [{"alg": "SHA-256", "content": digest}]}}}))
        return pack.pack(self.folder / "program", self.folder / "notices", self.folder / "sbom", self.folder / out, 1_700_000_000)

    def changed(self, change, name=None):
        """What check says of a wheel whose entries (name, mode, bytes) went through `change`."""
        wheel = self.pack()
        other = self.folder / "other" / (name or wheel.name)
        other.parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(other, "w") as new:
            for entry in old.infolist():
                result = change(entry.filename, entry.external_attr >> 16, old.read(entry))
                if result is not None:
                    entry.external_attr = result[0] << 16
                    new.writestr(entry, result[1])
        return list(check_wheel.check(other, ["/somewhere/built"]))

    def test_the_same_input_gives_the_same_bytes(self):
        self.assertEqual(self.pack().read_bytes(), self.pack(out="again").read_bytes())

    def test_the_wheel_is_for_the_programs_machine(self):
        self.assertTrue(self.pack().name.endswith("-py3-none-manylinux_2_34_x86_64.whl"))
        self.assertTrue(self.pack(elf(0xB7)).name.endswith("-py3-none-manylinux_2_34_aarch64.whl"))
        for other in (elf(0x08), b"#!/bin/sh\n", b""):
            with self.assertRaisesRegex(pack.Refused, "no Linux program for x86_64 or aarch64"):
                self.pack(other)

    def test_a_wheel_as_packed_is_fine(self):
        for machine in (0x3E, 0xB7):
            self.assertEqual(list(check_wheel.check(self.pack(elf(machine)), ["/somewhere/built"])), [])

    def test_what_pip_reads(self):
        with zipfile.ZipFile(self.pack()) as archive:
            stem = f"flightplan-{pack.version()}"
            text = archive.read(f"{stem}.dist-info/METADATA").decode()
            names = set(archive.namelist())
            rows = list(csv.reader(io.StringIO(archive.read(f"{stem}.dist-info/RECORD").decode())))
        for line in (f"Version: {pack.version()}", "License-Expression: Apache-2.0", "License-File: NOTICE",
                     "Requires-Python: >=3.9", "Provides-Extra: skypilot"):
            self.assertIn(line + "\n", text)
        self.assertRegex(text, r'Requires-Dist: grpcio>=[0-9.]+\n')
        self.assertRegex(text, r'Requires-Dist: nemo-run.* ; extra == "nemo-run"\n')
        self.assertIn("# flightplan for Python", text)
        self.assertEqual({row[0] for row in rows}, names)
        source = ROOT / "clients/python/src"
        package = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()
                   and "__pycache__" not in path.parts and ".egg-info" not in str(path)
                   and path.name != "report.html"}  # the program has it
        self.assertEqual({name for name in names if name.startswith("flightplan/")}, package)

    def test_what_is_wrong_is_named(self):
        stem = f"flightplan-{pack.version()}"
        licence, program = f"{stem}.dist-info/licenses/LICENSE", f"{stem}.data/scripts/flightplan"
        module, sbom = "flightplan/client.py", f"{stem}.dist-info/sboms/flightplan.cdx.json"

        def at(path, change):
            return lambda name, mode, data: change(mode, data) if name == path else (mode, data)

        for change, said in [
            (at(licence, lambda mode, data: None), f"{licence} is missing or empty"),
            (at(licence, lambda mode, data: (mode, b"\n")), f"{licence} is missing or empty"),
            (at(module, lambda mode, data: None), f"{module} is in the wheel or in RECORD alone"),
            (at(module, lambda mode, data: (mode, data + b"\n")), f"{module} is not what RECORD says"),
            (at(module, lambda mode, data: (0o100755, data)), f"{module} has mode 100755, must have 100644"),
            (at(program, lambda mode, data: (0o100644, data)), f"{program} has mode 100644, must have 100755"),
            (at(program, lambda mode, data: (mode, data + b"x/root/src/a.cc\0")),
             f"{program} has a path of the machine that built it: /root/src/a.cc"),
            (at(program, lambda mode, data: (mode, data + b"/somewhere/built/gen")),
             f"{program} has a path of the machine that built it: /somewhere/built/gen"),
            (at(program, lambda mode, data: (mode, elf(0xB7))), "the program is not for x86_64"),
            (at(program, lambda mode, data: (mode, data + b"more")), f"{sbom} is about another program"),
            (at(sbom, lambda mode, data: None), f"{sbom} is missing"),
        ]:
            with self.subTest(said):
                self.assertIn(said, self.changed(change))
        self.assertIn("WHEEL has another tag than the file's name",
                      self.changed(lambda *entry: entry[1:], f"{stem}-py3-none-manylinux_2_28_x86_64.whl"))
        self.assertEqual(self.changed(lambda *entry: entry[1:], "flightplan.whl"), ["flightplan.whl is no name of a wheel of ours"])

    @unittest.skipUnless(shutil.which("cc"), "needs a C compiler")
    def test_what_a_real_program_needs_is_read(self):
        """One with a library of its own, a library path and functions of a newer C library than the tag says."""
        (self.folder / "own.c").write_text("int own(void) { return 0; }\n")
        (self.folder / "main.c").write_text("#include <stdlib.h>\nint own(void);\nint main(void) { return own() + (int)arc4random(); }\n")
        build = lambda *flags: subprocess.run(["cc", *flags], cwd=self.folder, check=True, capture_output=True)  # noqa: E731
        build("-shared", "-o", "libown.so", "own.c")
        build("-o", "real", "main.c", "-L.", "-lown", "-Wl,-rpath,/somewhere", "-Wno-implicit-function-declaration")
        machine = pack.machine(self.folder / "real")
        wrong = list(check_wheel.check_program(str(self.folder / "real"), machine, (2, 17)))
        self.assertIn("the program needs libown.so", wrong)
        self.assertTrue(any("library path" in line for line in wrong), wrong)
        self.assertIn("the program needs glibc 2.36", wrong)
        self.assertEqual(list(check_wheel.check_program(shutil.which("true"), machine, (2, 99))), [])


if __name__ == "__main__":
    if not shutil.which("readelf"):
        print("skipped: needs readelf (binutils)")
        sys.exit(77)
    unittest.main()
