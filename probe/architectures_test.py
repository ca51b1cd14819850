#!/usr/bin/env python3
"""Does every CUDA object carry code for every architecture? usage: architectures_test.py 80,90a,100 OBJECT..."""
import pathlib
import re
import sys

architectures, objects = sys.argv[1].split(","), sys.argv[2:]
faults = [] if objects else ["no objects"]
for name in objects:
    found = set(re.findall(rb"sm_(\d+a?)", pathlib.Path(name).read_bytes()))
    faults += [f"{name}: no code for sm_{a}" for a in architectures if a.encode() not in found]
print("\n".join(faults) if faults else f"{len(objects)} objects, each for {', '.join(architectures)}")
sys.exit(1 if faults else 0)
