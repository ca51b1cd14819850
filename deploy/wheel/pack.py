#!/usr/bin/env python3
"""Packs the wheel: the Python package of clients/python, and the native program as its command. The same input gives the
same bytes.

usage: pack.py PROGRAM NOTICES SBOM OUT_FOLDER      prints the wheel's path
  PROGRAM     the flightplan program, as the wheel shall carry it
  NOTICES     the licences of the libraries in it (deploy/third_party_notices.py wheel)
  SBOM        what is in it (deploy/sbom.py wheel PROGRAM), for dist-info/sboms (PEP 770)
SOURCE_DATE_EPOCH: the time of every file in it; default: 1980."""
import base64
import hashlib
import os
import pathlib
import re
import sys
import time
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "clients/python"
# The C library that it asks for. check_wheel.py holds the program to it.
PLATFORM = "manylinux_2_34"
MACHINES = {0x3E: "x86_64", 0xB7: "aarch64"}  # of the ELF header
PACKAGED = (".py", ".pyi", ".json", ".typed")  # report.html is in the program
DOS_EPOCH = 315532800  # a zip file knows no earlier time


class Refused(Exception):
    """What is wrong with the input and what to do, in one sentence."""


def machine(program):
    """The machine that a program is for: x86_64 or aarch64."""
    header = program.read_bytes()[:20]
    name = MACHINES.get(int.from_bytes(header[18:20], "little")) if header[:6] == b"\x7fELF\x02\x01" else None
    if name is None:
        raise Refused(f"{program} is no Linux program for {' or '.join(MACHINES.values())}")
    return name


def version():
    """The release, which the package repeats from the top CMakeLists.txt."""
    text = (PACKAGE / "src/flightplan/__init__.py").read_text()
    return re.search(r'^__version__ = "([^"]+)"', text, re.M).group(1)


def metadata(project, release, licences):
    """The METADATA file, from pyproject.toml and the README."""
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {release}",
             f"Summary: {project['description']}", "Author: The Flightplan authors", "License-Expression: Apache-2.0"]
    lines += [f"License-File: {name}" for name in licences]
    lines += [f"Requires-Python: {project['requires-python']}"]
    lines += [f"Requires-Dist: {need}" for need in project["dependencies"]]
    for extra, needs in project.get("optional-dependencies", {}).items():
        lines += [f"Provides-Extra: {extra}"] + [f'Requires-Dist: {need} ; extra == "{extra}"' for need in needs]
    lines += ["Description-Content-Type: text/markdown", ""]
    return "\n".join(lines) + "\n" + (PACKAGE / project["readme"]).read_text()


def package_files():
    """Name in the wheel and content of each file of the Python package."""
    source = PACKAGE / "src"
    for path in sorted((source / "flightplan").rglob("*")):
        if path.is_file() and path.suffix in PACKAGED and "__pycache__" not in path.parts:
            yield path.relative_to(source).as_posix(), path.read_bytes()


def contents(program, notices, sbom):
    """Name and bytes of every file but RECORD, in order; and the wheel's own name."""
    with (PACKAGE / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    stem = f"{project['name']}-{version()}"
    tag = f"py3-none-{PLATFORM}_{machine(program)}"
    licences = {"LICENSE": (ROOT / "LICENSE").read_bytes(), "NOTICE": (ROOT / "NOTICE").read_bytes(),
                "THIRD_PARTY_NOTICES.txt": notices.read_bytes()}
    wheel = f"Wheel-Version: 1.0\nGenerator: flightplan deploy/wheel/pack.py\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files = list(package_files())
    files.append((f"{stem}.data/scripts/flightplan", program.read_bytes()))
    files += [(f"{stem}.dist-info/licenses/{name}", text) for name, text in licences.items()]
    files.append((f"{stem}.dist-info/sboms/flightplan.cdx.json", sbom.read_bytes()))
    files.append((f"{stem}.dist-info/METADATA", metadata(project, version(), licences).encode()))
    files.append((f"{stem}.dist-info/WHEEL", wheel.encode()))
    return f"{stem}-{tag}.whl", f"{stem}.dist-info/RECORD", files


def record(name, files):
    """The RECORD file: digest and size of every other."""
    rows = []
    for path, data in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(data)}\n")
    return "".join(rows + [f"{name},,\n"]).encode()


def write(path, files, seconds):
    """The zip file, complete or not at all."""
    unfinished = path.with_suffix(".part")
    with zipfile.ZipFile(unfinished, "w") as archive:
        for name, data in files:
            entry = zipfile.ZipInfo(name, time.gmtime(seconds)[:6])
            entry.create_system = 3  # Unix: the mode below counts
            entry.external_attr = (0o100755 if ".data/scripts/" in name else 0o100644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
    unfinished.replace(path)


def pack(program, notices, sbom, out, seconds):
    """Writes the wheel into a folder. Returns its path."""
    name, record_name, files = contents(program, notices, sbom)
    files.append((record_name, record(record_name, files)))
    out.mkdir(parents=True, exist_ok=True)
    write(out / name, files, max(seconds, DOS_EPOCH))
    return out / name


def main(arguments):
    if len(arguments) != 4:
        print(__doc__)
        return 2
    try:
        print(pack(*map(pathlib.Path, arguments), int(os.environ.get("SOURCE_DATE_EPOCH", DOS_EPOCH))))
    except (Refused, OSError) as error:
        print(f"pack: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
