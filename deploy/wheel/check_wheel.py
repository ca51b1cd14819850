#!/usr/bin/env python3
"""Whether a wheel is as it should be: complete, true to its RECORD and its platform, and without traces of the machine it
was built on. Needs readelf (binutils), of any architecture.

usage: check_wheel.py WHEEL [BUILD_PATH...]
  BUILD_PATH   a folder whose name must stand nowhere in the wheel; beside home folders, which never may
Exit codes: 0 fine; 1 one line for each thing that is wrong; 2 wrong arguments."""
import base64
import csv
import hashlib
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

MAX_BYTES = 10_000_000
LICENCES = ("LICENSE", "NOTICE", "THIRD_PARTY_NOTICES.txt")
PACKAGE = ("flightplan/__init__.py", "flightplan/py.typed", "flightplan/service_config.json",
           "flightplan/v1/resolver_service_pb2.pyi")
HOMES = (b"/root/", b"/home/")
# All of the C library and of the compiler's unwinder, which every system with that C library has.
NEEDED = re.compile(r"(libc\.so\.6|libm\.so\.6|libpthread\.so\.0|libdl\.so\.2|librt\.so\.1|libresolv\.so\.2|libgcc_s\.so\.1"
                    r"|ld-linux-(x86-64\.so\.2|aarch64\.so\.1))")
ELF_MACHINE = {"x86_64": "X86-64", "aarch64": "AArch64"}


def check_record(archive, stem):
    """RECORD names every file with its digest and size, and no other."""
    name = f"{stem}.dist-info/RECORD"
    rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(archive.read(name).decode()))}
    for path in sorted(set(rows) ^ set(archive.namelist())):
        yield f"{path} is in the wheel or in RECORD alone"
    for path in sorted(set(rows) & set(archive.namelist()) - {name}):
        data = archive.read(path)
        digest = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        if rows[path] != [digest, str(len(data))]:
            yield f"{path} is not what RECORD says"


def check_files(archive, stem):
    """What has to be there, and that nothing but the program is executable."""
    for path in [*PACKAGE, *(f"{stem}.dist-info/licenses/{name}" for name in LICENCES)]:
        if path not in archive.namelist() or (not archive.read(path).strip() and not path.endswith("py.typed")):
            yield f"{path} is missing or empty"
    for entry in archive.infolist():
        mode = entry.external_attr >> 16
        right = 0o100755 if entry.filename == f"{stem}.data/scripts/flightplan" else 0o100644
        if mode != right:
            yield f"{entry.filename} has mode {mode:o}, must have {right:o}"


def check_sbom(archive, stem):
    """The bill of materials is there, and about this program."""
    name = f"{stem}.dist-info/sboms/flightplan.cdx.json"
    if name not in archive.namelist():
        yield f"{name} is missing"
        return
    digest = hashlib.sha256(archive.read(f"{stem}.data/scripts/flightplan")).hexdigest()
    if {"alg": "SHA-256", "content": digest} not in json.loads(archive.read(name))["metadata"]["component"].get("hashes", []):
        yield f"{name} is about another program"


def check_traces(archive, build_paths):
    """No home folder and no build folder in any file."""
    for path in archive.namelist():
        data = archive.read(path)
        # Others' copyright files may name their own authors' folders: Boost's does.
        homes = [] if path.endswith("/licenses/THIRD_PARTY_NOTICES.txt") else HOMES
        for trace in [*homes, *(str(folder).encode() for folder in build_paths)]:
            at = data.find(trace)
            if at >= 0:
                shown = re.match(rb"[\x20-\x7e]*", data[at:at + 120]).group().decode()
                yield f"{path} has a path of the machine that built it: {shown}"


def version_of(text):
    return tuple(int(part) for part in text.split("."))


def check_program(file, machine, glibc):
    """The program is for this machine and this C library, needs no other library and looks for none elsewhere."""
    text = subprocess.run(["readelf", "--wide", "--file-header", "--dynamic", "--version-info", file], check=True,
                          capture_output=True, text=True).stdout
    if ELF_MACHINE[machine] not in text:
        yield f"the program is not for {machine}"
    for name in re.findall(r"\(NEEDED\)\s+Shared library: \[(.*)\]", text):
        if not NEEDED.fullmatch(name):
            yield f"the program needs {name}"
    for name in re.findall(r"\((?:RPATH|RUNPATH)\).*", text):
        yield f"the program has a library path: {name}"
    for found in sorted(set(re.findall(r"\bGLIBC_([0-9.]+)", text)), key=version_of):
        if version_of(found) > glibc:
            yield f"the program needs glibc {found}"
    for name in sorted(set(re.findall(r"\b(?:GLIBCXX|CXXABI)_[0-9.]+", text))):
        yield f"the program needs a shared libstdc++ ({name})"
    if re.search(r"\bGLIBC_ABI_DT_RELR\b", text):
        yield "the program needs glibc 2.36 (DT_RELR)"


def check(wheel, build_paths):
    """One sentence for each thing that is wrong."""
    match = re.fullmatch(r"(flightplan-[0-9.]+)-py3-none-manylinux_(\d+)_(\d+)_(x86_64|aarch64)\.whl", wheel.name)
    if not match:
        yield f"{wheel.name} is no name of a wheel of ours"
        return
    stem, glibc, machine = match[1], (int(match[2]), int(match[3])), match[4]
    if wheel.stat().st_size > MAX_BYTES:
        yield f"it has {wheel.stat().st_size} bytes, more than {MAX_BYTES}"
    with zipfile.ZipFile(wheel) as archive, tempfile.NamedTemporaryFile() as program:
        yield from check_record(archive, stem)
        yield from check_files(archive, stem)
        yield from check_sbom(archive, stem)
        yield from check_traces(archive, build_paths)
        tag = f"Tag: {wheel.name[len(stem) + 1:-len('.whl')]}\n"
        if tag not in archive.read(f"{stem}.dist-info/WHEEL").decode():
            yield "WHEEL has another tag than the file's name"
        program.write(archive.read(f"{stem}.data/scripts/flightplan"))
        program.flush()
        yield from check_program(program.name, machine, glibc)


def main(arguments):
    if not arguments or arguments[0].startswith("-"):
        print(__doc__)
        return 2
    try:
        wrong = list(check(pathlib.Path(arguments[0]), arguments[1:]))
    except (OSError, KeyError, zipfile.BadZipFile, subprocess.CalledProcessError) as error:
        wrong = [f"it cannot be read: {error}"]
    for line in wrong:
        print(f"{arguments[0]}: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
