#!/usr/bin/env python3
"""Licences of the libraries that a wheel, a package or an image carries (deploy/third_party.yaml), from the copyright
files of the installed Debian packages.

usage: deploy/third_party_notices.py PARCEL [FILE]      writes THIRD_PARTY_NOTICES.txt, or FILE
       deploy/third_party_notices.py --check BINARY...
  PARCEL    wheel, deb, image, or probe (flightplan-probe built with CUDA)
  --check   one line for each shared library that the binary needs and the table does not have
Exit codes: 0 fine; 1 a library or a copyright file is missing; 2 wrong arguments."""
import os
import pathlib
import re
import subprocess
import sys

import yaml

TABLE = pathlib.Path(__file__).with_name("third_party.yaml")
PARCELS = ("wheel", "deb", "image", "probe")
DOCS = pathlib.Path("/usr/share/doc")
COMMON_LICENCES = pathlib.Path("/usr/share/common-licenses")
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
RULE = "=" * 100
HEAD = """Flightplan carries the libraries below, or parts of them, each under its own licence. Their copyright files follow as
Debian has them; some also name licences of files that are not in here, such as documentation and packaging. The full
texts of the licences that they refer to stand at the end.
"""


class Missing(Exception):
    """What is not on this machine and how to get it, in one sentence."""


def read_table(path=TABLE):
    return yaml.safe_load(path.read_text())


def base_source(source):
    """The source package's name without a release's number: gcc-12 and gcc-14 are gcc, boost1.74 is boost."""
    return re.sub(r"-\d+$|-?\d+\.\d+$", "", source)


def installed_packages():
    """Installed Debian packages: name, (source, upstream version)."""
    out = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${source:Package} ${source:Upstream-Version}\n"],
                         check=True, capture_output=True, text=True).stdout
    rows = (line.split(" ") for line in out.splitlines())
    return {name: (base_source(source), version) for status, name, source, version in rows if status == "installed"}


def debian_text(row, packages, docs):
    """Version and copyright file of a row's package, or of another one of the same source."""
    others = sorted(name for name, (source, _) in packages.items() if source == base_source(row["source"]))
    for name in [row["package"]] * (row["package"] in packages) + others:
        file = docs / name / "copyright"
        if file.is_file():
            return packages[name][1], file.read_text(errors="replace")
    raise Missing(f"no copyright file of {row['name']}: install the package {row['package']}")


def pypi_text(row, cache):
    """Version and licence of a wheel that probe/toolkit.sh has unpacked."""
    folder = row["pypi"].replace("-", "_")
    for file in sorted(cache.glob(f"flightplan/cuda-*/{folder}-*.dist-info/licenses/License.txt")):
        return file.parts[-3].removesuffix(".dist-info").rpartition("-")[2], file.read_text(errors="replace")
    raise Missing(f"no licence of {row['name']}: run probe/toolkit.sh, which brings {row['pypi']}")


def common_licences(text, folder):
    """The licences that Debian's files refer to instead of repeating them: names and text. GPL is a link to GPL-3."""
    names = {}
    for name in sorted({match.rstrip(".-") for match in re.findall(r"common-licenses/([A-Za-z0-9.+-]+)", text)}):
        if not (folder / name).is_file():
            raise Missing(f"no text of the licence {name}: install the package base-files, without a path-exclude of dpkg")
        names.setdefault((folder / name).resolve(), []).append(name)
    for file in sorted(names):
        yield ", ".join(names[file]), file.read_text(errors="replace")


def section(title, text):
    return f"\n{RULE}\n{title}\n{RULE}\n\n{text.strip(chr(10))}\n"


def notices(rows, packages, docs=DOCS, common=COMMON_LICENCES, cache=CACHE):
    """The whole text. Raises Missing with the first package that is not there."""
    body = ""
    for row in sorted(rows, key=lambda row: row["name"].lower()):
        version, text = pypi_text(row, cache) if "pypi" in row else debian_text(row, packages, docs)
        body += section(f"{row['name']} {version}    {row['licence']}", text)
    return HEAD + body + "".join(section(f"Referred to above: {name}", text) for name, text in common_licences(body, common))


# Where the loader looks. Elsewhere packages keep libraries of their own (a Java runtime its zlib).
LIBRARY_FOLDER = re.compile(r"(/usr)?/lib(32|64)?/([\w-]+-linux-gnu\w*/)?[^/]+")


def needed(binary):
    """Names of the shared libraries that an ELF file asks for."""
    out = subprocess.run(["readelf", "-d", binary], check=True, capture_output=True, text=True,
                         env={**os.environ, "LC_ALL": "C"}).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", out))


def owners_of(sonames):
    """Library name: its packages and their paths. By dpkg, so that it works for binaries of another architecture too."""
    out = subprocess.run(["dpkg", "-S", *(f"*/{name}" for name in sorted(sonames))], capture_output=True, text=True).stdout
    owners = {name: [] for name in sonames}
    for line in out.splitlines():
        packages, _, path = line.rpartition(": ")
        if LIBRARY_FOLDER.fullmatch(path) and os.path.basename(path) in owners:
            owners[os.path.basename(path)] += [(package.split(":")[0], path) for package in packages.split(", ")]
    return owners


def unknown_libraries(binary, sources, packages, owners_of=owners_of, needed=needed):
    """Yields one sentence for each library, of the binary or of its libraries, whose source is not in the table."""
    seen, level = set(), {name: binary for name in needed(binary)}
    while level:
        seen |= level.keys()
        following = {}
        for name, owners in sorted(owners_of(level.keys()).items()):
            source = next((packages[package][0] for package, _ in owners if package in packages), None)
            if source is None:
                yield f"{binary}: {name}, needed by {level[name]}, is of no installed Debian package"
            elif source not in sources:
                yield f"{binary}: {name}, needed by {level[name]}, is of {source}: give it a row in deploy/third_party.yaml"
            for path in (path for _, path in owners[:1] if os.path.exists(path)):
                following.update({next_name: name for next_name in needed(path) if next_name not in seen})
        level = following


def check(binaries):
    sources = {base_source(row["source"]) for row in read_table() if "source" in row}
    packages = installed_packages()
    faults = []
    for binary in binaries:
        try:
            faults += unknown_libraries(binary, sources, packages)
        except subprocess.CalledProcessError:
            faults.append(f"{binary}: cannot be read as a program (ELF)")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


def write(parcel, file):
    rows = [row for row in read_table() if parcel in row["in"]]
    try:
        file.write_text(notices(rows, installed_packages()))
    except (Missing, OSError) as fault:
        print(f"third_party_notices: {fault}", file=sys.stderr)
        return 1
    print(f"{file}: {len(rows)} libraries")
    return 0


def main(arguments):
    if arguments in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    if len(arguments) > 1 and arguments[0] == "--check":
        return check(arguments[1:])
    if len(arguments) in (1, 2) and arguments[0] in PARCELS:
        return write(arguments[0], pathlib.Path(arguments[1] if len(arguments) == 2 else "THIRD_PARTY_NOTICES.txt"))
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
