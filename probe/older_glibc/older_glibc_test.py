#!/usr/bin/env python3
"""The worker for an older glibc asks for no symbol above it and for no library that such a system lacks, and does what the
ordinary one does. usage: older_glibc_test.py VERSION WORKER ORDINARY_WORKER TEST_PROGRAM FAKE_DEVICE"""
import json
import re
import subprocess
import sys

EVERYWHERE = re.compile(r"(libc|libm|libpthread|libdl|librt|ld-linux-[\w-]+)\.so\.\d+")


def out(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def number(version):
    return [int(part) for part in version.split(".")]


def faults_of(program, most):
    faults = []
    for symbol, version in sorted(set(re.findall(r"GLIBC_([\d.]+)\)?\s+(\S+)$", out("objdump", "-T", program), re.M))):
        if number(symbol) > number(most):
            faults.append(f"{program}: {version} is of glibc {symbol}")
    for library in re.findall(r"NEEDED\s+(\S+)", out("objdump", "-p", program)):
        if not EVERYWHERE.fullmatch(library):
            faults.append(f"{program}: needs {library}")
    return faults


def rows(worker, fake):
    lines = [json.loads(line) for line in out(worker, "--fake", fake).splitlines()]
    return [line["row"] for line in lines if "row" in line]


def main():
    most, worker, ordinary, program, fake = sys.argv[1:]
    faults = faults_of(worker, most) + faults_of(program, most)
    print(out(program), end="")
    got, want = rows(worker, fake), rows(ordinary, fake)
    if not want or [row["id"] for row in got] != [row["id"] for row in want]:
        faults.append(f"{worker}: {len(got)} rows of a fake device, the ordinary worker {len(want)}")
    # The check itself: the ordinary worker, of a newer system, does not pass it.
    if number(re.search(r"[\d.]+$", out("ldd", "--version").splitlines()[0])[0]) >= [2, 34] and not faults_of(ordinary, most):
        faults.append(f"{ordinary} would pass too: nothing is told apart")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
