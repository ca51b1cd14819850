#!/usr/bin/env python3
"""What the compiler has made of the kernels: the instructions that they are written for are there, and none keeps
registers in local memory.

usage: sass_test.py CUOBJDUMP OBJECT...     cuobjdump calls nvdisasm, which has to stand beside it or in the PATH
"""

import collections
import os
import pathlib
import re
import subprocess
import sys

SPILL = re.compile(r"^(LDL|STL)\b")
WIDE_LOAD, WIDE_STORE = r"LDG\.E\.(\w+\.)*128", r"STG\.E\.(\w+\.)*128"
# object, architecture, kernel, instruction, least and most of it in every kernel of the name
WANTED = [
    # 64 along k of a stage are four steps of 16, not unrolled any further.
    ("gemm_tma.cu", "sm_90a", "TmaGemmKernel", r"HGMMA\.64x256x16", 4, 4),
    # At least one tile of each operand; four of B where its rows run along the line.
    ("gemm_tma.cu", "sm_90a", "TmaGemmKernel", r"UTMALDG\.2D", 2, 6),
    ("gemm_mma.cu", "sm_80", "GemmKernel", r"HMMA\.16816", 64, 128),
    # Eight words of 16 bytes are on their way at once.
    ("copies.cu", "sm_90a", "CopyKernel", WIDE_LOAD, 8, 8),
    ("copies.cu", "sm_90a", "CopyKernel", WIDE_STORE, 8, 8),
    ("exchange.cu", "sm_90a", "SendKernel", WIDE_LOAD, 8, 8),
    ("ceilings.cu", "sm_90a", "ReadKernel", WIDE_LOAD, 8, 8),
    # The K rows of a token, and of the gradient the token's own, once a round.
    *(("dispatch.cu", "sm_90a", f"CombineKernel<{k}>", WIDE_LOAD, k, k) for k in (3, 4, 8, 10, 16, 22)),
    *(("dispatch.cu", "sm_90a", f"CombineGradKernel<{k}>", WIDE_LOAD, k + rounds, k + rounds)
      for k, rounds in ((3, 1), (4, 1), (8, 1), (10, 2), (16, 4), (22, 22))),
    # Numbers are cast by the hardware's own instruction, two at a time, from whole words.
    *(("fp8.cu", "sm_90a", kernel, *what) for kernel in ("CastTensorKernel", "CastSquareKernel") for what in (
        (WIDE_LOAD, 8, 8), (r"F2FP\.SATFINITE\.E4M3", 64, 64), (r"CALL", 0, 0))),
    *(("fp8.cu", "sm_90a", "CastRowsKernel", *what) for what in (
        (WIDE_LOAD, 1, 1), (r"F2FP\.SATFINITE\.E4M3", 8, 8), (r"CALL", 0, 0))),
    # What goes to peers is fenced by every thread, and once more for the blocks together; flags are released and acquired.
    *(("peers.cu", "sm_90a", kernel, *what) for kernel in ("PushKernel", "PullKernel") for what in (
        (WIDE_LOAD, 8, 8), (WIDE_STORE, 8, 8), (r"MEMBAR\.SC\.SYS", 2, 2), (r"STG\.E\.STRONG\.SYS", 1, 64),
        (r"LDG\.E\.STRONG\.SYS", 1, 64))),
    ("peers.cu", "sm_90a", "CombineKernel", r"MEMBAR\.SC\.SYS", 2, 2),
    ("peers.cu", "sm_90a", "CombineKernel", WIDE_LOAD, 4, 8),
    ("peers.cu", "sm_90a", "CombineKernel", WIDE_STORE, 1, 2),
]


def mangled(kernel):
    """A part of the name that the compiler makes of it: the length before it, an integer of a template behind it."""
    name, _, number = kernel.rstrip(">").partition("<")
    return f"{len(name)}{name}" + (f"ILi{number}E" if number else "")


def kernels_of(cuobjdump, path):
    """(architecture, kernel) to the names of its instructions."""
    environment = dict(os.environ, PATH=f"{pathlib.Path(cuobjdump).parent}:{os.environ['PATH']}")
    listing = subprocess.run([cuobjdump, "-sass", path], env=environment, check=True, capture_output=True, text=True)
    kernels, architecture, kernel = collections.defaultdict(list), None, None
    for line in listing.stdout.splitlines():
        if match := re.match(r"arch = (\w+)", line):
            architecture = match[1]
        elif match := re.match(r"\s*Function : (\S+)", line):
            kernel = match[1]
        elif match := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?\w+ )?([A-Z][\w.]*)", line):
            kernels[architecture, kernel].append(match[1])
    return kernels


def main():
    cuobjdump, objects = sys.argv[1], sys.argv[2:]
    if not os.access(cuobjdump, os.X_OK):
        print("skipped: no cuobjdump; probe/toolkit.sh fetches it")
        return 77
    faults, met, count = [], set(), 0
    for path in objects:
        source = pathlib.Path(path).name.removesuffix(".o")
        for (architecture, kernel), instructions in kernels_of(cuobjdump, path).items():
            count += 1
            spills = sum(bool(SPILL.match(name)) for name in instructions)
            if spills:
                faults.append(f"{source} {architecture} {kernel}: {spills} instructions on local memory")
            for row in WANTED:
                if row[:2] != (source, architecture) or mangled(row[2]) not in kernel:
                    continue
                met.add(row)
                found = sum(bool(re.match(row[3], name)) for name in instructions)
                print(f"{source} {architecture} {kernel}: {found} of {row[3]}")
                if not row[4] <= found <= row[5]:
                    faults.append(f"{source} {architecture} {kernel}: {found} of {row[3]}, not {row[4]} to {row[5]}")
    faults += [f"{row[0]} {row[1]}: no kernel {row[2]}" for row in WANTED if row not in met]
    print(f"{count} kernels in {len(objects)} objects")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
