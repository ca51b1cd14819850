#!/usr/bin/env python3
"""The software bill of materials of a wheel, a package or an image: CycloneDX 1.5 in JSON, from deploy/third_party.yaml, the
installed Debian packages and deploy/vulnerabilities.yaml. The same input gives the same bytes.

usage: deploy/sbom.py PARCEL PROGRAM FILE     writes FILE, with the digest of that program; -: without
       deploy/sbom.py --check PARCEL BUILD    one line for each library or header that the linker and the compiler took for
                                              BUILD's program and the table does not have, and the other way round
  PARCEL    wheel, deb or image
SOURCE_DATE_EPOCH: the time that the file names; default: 1980.
Exit codes: 0 fine; 1 a package is missing, or a check found something; 2 wrong arguments."""
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import uuid

import yaml

from third_party_notices import Missing, base_source, installed_packages, packages_of, read_table

ROOT = pathlib.Path(__file__).resolve().parents[1]
HOLES = pathlib.Path(__file__).with_name("vulnerabilities.yaml")
PARCELS = ("wheel", "deb", "image")
NAMESPACE = uuid.UUID("5f0f4c0e-8f0b-5d0a-9d3e-2f6f7c1f0b11")  # of our serial numbers
ADVISORIES = "https://nvd.nist.gov/vuln/detail/"
INFO = pathlib.Path("/var/lib/dpkg/info")
# Of the compiler and the C library, whatever is linked.
TOOLCHAIN = re.compile(r"(gcc|glibc|linux|cross-toolchain)\b")
# Whose headers alone are taken: the library is opened where it is used.
OPENED = {"postgresql"}


def release():
    """Codename of the Debian that the libraries are from."""
    match = re.search(r"^VERSION_CODENAME=(\w+)$", pathlib.Path("/etc/os-release").read_text(), re.M)
    return match.group(1) if match else "unknown"


def version():
    return re.search(r"^project\(\w+\s+VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M).group(1)


def component(row, packages, codename):
    """A library as a component, by its Debian source package, which is what advisories go by."""
    names = packages_of(row, packages)
    if not names:
        raise Missing(f"no package of {row['name']}: install {row['package']}")
    source, full, _ = packages[names[0]]
    return {"type": "library", "bom-ref": f"library:{row['source']}", "name": row["name"], "version": full,
            "licenses": [{"expression": row["licence"]}],
            "purl": f"pkg:deb/debian/{source}@{full.replace(':', '%3A').replace('+', '%2B')}?arch=source&distro={codename}",
            "properties": [{"name": "flightplan:linked", "value": row["linked"]}]}


def is_below(installed, fixed):
    """Whether a Debian version is older than the authors' version, whatever its epoch."""
    return subprocess.run(["dpkg", "--compare-versions", installed.partition(":")[2] or installed, "lt", fixed]).returncode == 0


def vulnerability(hole, ref, installed):
    analysis = {"state": hole["state"], "detail": hole["detail"]}
    analysis |= {key: hole[key] for key in ("justification", "response") if key in hole}
    return {"bom-ref": f"hole:{hole['id']}", "id": hole["id"], "source": {"name": "NVD", "url": ADVISORIES + hole["id"]},
            "description": hole["what"], "analysis": analysis,
            "affects": [{"ref": ref, "versions": [{"version": installed, "status": "unaffected" if hole["state"] == "not_affected" else "affected"}]}]}


def bom(parcel, program, rows, holes, packages, codename, seconds):
    """The whole document."""
    rows = sorted((row for row in rows if parcel in row["in"] and "source" in row), key=lambda row: row["name"].lower())
    parts = [component(row, packages, codename) for row in rows]
    of_source = {row["source"]: part for row, part in zip(rows, parts)}
    by_name = {row["name"]: f"library:{row['source']}" for row in rows}
    subject = {"type": "application", "bom-ref": "flightplan", "name": "flightplan", "version": version(),
               "licenses": [{"license": {"id": "Apache-2.0"}}]}
    if program is not None:
        subject["hashes"] = [{"alg": "SHA-256", "content": hashlib.sha256(program).hexdigest()}]
    needs = [{"ref": "flightplan", "dependsOn": [by_name[row["name"]] for row in rows if "by" not in row]}]
    needs += [{"ref": by_name[row["name"]], "dependsOn": [by_name[other["name"]] for other in rows if other.get("by") == row["name"]]}
              for row in rows]
    found = [vulnerability(hole, of_source[hole["source"]]["bom-ref"], of_source[hole["source"]]["version"]) for hole in holes
             if hole["source"] in of_source and is_below(of_source[hole["source"]]["version"], hole["below"])]
    document = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
                "metadata": {"timestamp": datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                             "tools": {"components": [{"type": "application", "name": "deploy/sbom.py", "version": version()}]},
                             "component": subject, "properties": [{"name": "flightplan:parcel", "value": parcel}]},
                "components": parts, "dependencies": needs, "vulnerabilities": found}
    serial = uuid.uuid5(NAMESPACE, json.dumps(document, sort_keys=True))
    return {"bomFormat": document.pop("bomFormat"), "specVersion": document.pop("specVersion"), "serialNumber": serial.urn, **document}


def owners(paths):
    """Path: the installed Debian package that has it."""
    found = {}
    for list_file in INFO.glob("*.list"):
        for path in paths & set(list_file.read_text().splitlines()):
            found.setdefault(path, list_file.name.removesuffix(".list").partition(":")[0])
    return found


def library_paths(command, build):
    """The libraries of a link command, and which of them are ours. -lNAME is looked for where the linker does."""
    outside, ours = set(), set()
    for word in command.split():
        if word.startswith("-l"):
            places = [path for folder in (*pathlib.Path("/usr/lib").glob("*-linux-gnu"), pathlib.Path("/usr/lib"))
                      for path in (folder / f"lib{word[2:]}.so", folder / f"lib{word[2:]}.a") if path.exists()]
            outside |= {str(place) for place in places[:1]}
        elif re.search(r"\.(a|so[.\d]*)$", word):
            path = pathlib.Path(os.path.normpath(build / word))
            (ours if build in path.parents else outside).add(str(path))
    return outside, ours


def headers(build, ours):
    """Headers outside the project that the objects of the program and of its libraries were compiled with."""
    names = {"flightplan"} | {pathlib.Path(path).name.removeprefix("lib").removesuffix(".a") for path in ours}
    out = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], check=True, capture_output=True, text=True).stdout
    found, taken = set(), False
    for line in out.splitlines():
        if not line.startswith(" "):
            match = re.search(r"CMakeFiles/(\w+)\.dir/", line)
            taken = match is not None and match.group(1) in names
        elif taken and line.strip().startswith("/usr/"):
            found.add(os.path.normpath(line.strip()))
    return found


def faults(parcel, build, rows, packages):
    """Yields one sentence for each difference between the table and what was compiled and linked."""
    rows = [row for row in rows if parcel in row["in"] and "source" in row]
    in_table = {base_source(row["source"]) for row in rows}
    commands = subprocess.run(["ninja", "-C", str(build), "-t", "commands", "-s", "bin/flightplan"], check=True,
                              capture_output=True, text=True).stdout
    outside, ours = library_paths(commands.strip().splitlines()[-1], build)
    used = set()
    files = outside | headers(build, ours)
    owner = owners(files)
    for path in sorted(files):
        source = packages[owner[path]].base if path in owner else None
        if source is None and path in outside:
            yield f"{path}, which the program is linked with, is of no installed Debian package"
        elif source is not None and source not in used | in_table | OPENED and not TOOLCHAIN.match(source):
            yield f"{path} is of {source}: give it a row for {parcel} in deploy/third_party.yaml"
        used.add(source)
    archives = {pathlib.Path(path).stem.removeprefix("lib").split("-core")[0] for path in ours}
    for row in rows:
        source = base_source(row["source"])
        if "by" not in row and row["linked"] != "shared" and source not in used | archives and not TOOLCHAIN.match(source):
            yield f"{row['name']} has a row for {parcel} in deploy/third_party.yaml, and nothing of it is in the program"


def main(arguments):
    try:
        if len(arguments) == 3 and arguments[0] == "--check" and arguments[1] in PARCELS:
            found = list(faults(arguments[1], pathlib.Path(arguments[2]).resolve(), read_table(), installed_packages()))
            print("".join(f"{line}\n" for line in found), end="")
            return 1 if found else 0
        if len(arguments) == 3 and arguments[0] in PARCELS:
            program = None if arguments[1] == "-" else pathlib.Path(arguments[1]).read_bytes()
            document = bom(arguments[0], program, read_table(), yaml.safe_load(HOLES.read_text()), installed_packages(),
                           release(), int(os.environ.get("SOURCE_DATE_EPOCH", 315532800)))
            pathlib.Path(arguments[2]).write_text(json.dumps(document, indent=1) + "\n")
            print(f"{arguments[2]}: {len(document['components'])} libraries, {len(document['vulnerabilities'])} known holes")
            return 0
    except (Missing, OSError, subprocess.CalledProcessError) as fault:
        print(f"sbom: {fault}", file=sys.stderr)
        return 1
    print(__doc__, file=sys.stderr if arguments not in (["-h"], ["--help"]) else sys.stdout)
    return 0 if arguments in (["-h"], ["--help"]) else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
