#!/usr/bin/env python3
"""Licences of the libraries that a wheel, a package or an image carries (deploy/third_party.yaml), from the copyright
files of the installed Debian packages; and where the source is of what the GNU licences ask it for.

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
from typing import NamedTuple

import yaml

TABLE = pathlib.Path(__file__).resolve().with_name("third_party.yaml")
ROOT = TABLE.parents[1]
PARCELS = ("wheel", "deb", "image", "probe")
DOCS = pathlib.Path("/usr/share/doc")
COMMON_LICENCES = pathlib.Path("/usr/share/common-licenses")
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
RULE = "=" * 100
HEAD = """Flightplan carries the libraries below, or parts of them, each under its own licence. Their copyright files follow as
Debian has them, long ones without their lists of files; some also name licences of files that are not in here, such as
documentation and packaging. The full
texts of the licences that they refer to stand at the end.
"""
# Of the image, which has libraries by themselves. (Wheel and package have libstdc++ and libgcc within the program, which the
# exception of their licence lets go without.)
SOURCES = """The programs and libraries below are in here by themselves, as Debian built them, under GNU licences, whose texts stand at the
end. The complete source of each, with what it takes to build it, is the Debian source package of exactly this version:
`apt-get source --download-only NAME=VERSION`, or the address beside it, free of charge.

Whoever has this file has this offer in writing: for three years from the day on which you got this image, whoever passed it on
to you gives you the same source on a medium that is usual for it, for no more than the copy costs. Of an image that the
Flightplan authors publish these are they: ask where it is published. Whoever passes an image on takes the offer on with it.
"""
SNAPSHOT = "https://snapshot.debian.org/package"  # keeps every version that Debian had
GNU_LICENCE = re.compile(r"\b(L?GPL-\d\.\d)-or-later\b")


class Missing(Exception):
    """What is not on this machine and how to get it, in one sentence."""


def read_table(path=TABLE):
    return yaml.safe_load(path.read_text())


def base_source(source):
    """The source package's name without a release's number: gcc-12 and gcc-14 are gcc, boost1.74 is boost."""
    return re.sub(r"-\d+$|-?\d+\.\d+$", "", source)


class Package(NamedTuple):
    """Of an installed Debian package: its source package and the versions of that."""
    source: str    # "gcc-12"
    version: str   # Debian's: "1:12.2.0-14+deb12u1"
    upstream: str  # the authors': "12.2.0"

    @property
    def base(self):
        return base_source(self.source)


def installed_packages():
    """Installed Debian packages by name."""
    out = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${source:Package} ${source:Version} "
                          "${source:Upstream-Version}\n"], check=True, capture_output=True, text=True).stdout
    rows = (line.split(" ") for line in out.splitlines())
    return {name: Package(*of_source) for status, name, *of_source in rows if status == "installed"}


def packages_of(row, packages):
    """Names of the installed packages that a row may be taken from: its own first, then others of the same source."""
    others = sorted(name for name, package in packages.items() if package.base == base_source(row["source"]))
    return [row["package"]] * (row["package"] in packages) + others


def debian_text(row, packages, docs):
    """A row's package, or another one of the same source, and its copyright file."""
    for name in packages_of(row, packages):
        file = docs / name / "copyright"
        if file.is_file():
            return packages[name], file.read_text(errors="replace")
    raise Missing(f"no copyright file of {row['name']}: install the package {row['package']}")


def field(paragraph, name):
    """The lines of a field of Debian's machine-readable copyright format, stripped; none where it is not there."""
    found = re.search(rf"^{name}:(.*(?:\n[ \t].*)*)", paragraph, re.MULTILINE)
    return [line.strip() for line in found[1].split("\n") if line.strip()] if found else []


def gathered(text):
    """A machine-readable copyright file without its lists of files: the holders by licence, then the rest as it is. Of Boost
    the lists are nine tenths of 2 MB."""
    holders, rest = {}, []
    for paragraph in re.split(r"\n[ \t]*\n", text.strip()):
        if field(paragraph, "Files"):
            licence, *words = field(paragraph, "License") or ["not named"]
            holders.setdefault(licence, set()).update(field(paragraph, "Copyright"))
            rest += ["\n".join([f"License: {licence}", *words])] if words else []
        elif not field(paragraph, "Format"):
            rest.append(paragraph)
    by_licence = ["\n".join([f"{licence}, copyright:", *(f"  {line}" for line in sorted(lines))])
                  for licence, lines in sorted(holders.items())]
    return "\n\n".join(by_licence + rest)


def pypi_text(row, cache):
    """Version and licence of a wheel that probe/toolkit.sh has unpacked."""
    folder = row["pypi"].replace("-", "_")
    for file in sorted(cache.glob(f"flightplan/cuda-*/{folder}-*.dist-info/licenses/License.txt")):
        return file.parts[-3].removesuffix(".dist-info").rpartition("-")[2], file.read_text(errors="replace")
    raise Missing(f"no licence of {row['name']}: run probe/toolkit.sh, which brings {row['pypi']}")


def file_text(row):
    """The licences that a file of this repository has, for what has no package here."""
    return (ROOT / row["file"]).read_text()


def common_licences(text, others, folder):
    """The licences that Debian's files refer to instead of repeating them, and `others`: names and text. GPL is a link to
    GPL-3."""
    names = {}
    for name in sorted({match.rstrip(".-") for match in re.findall(r"common-licenses/([A-Za-z0-9.+-]+)", text)} | others):
        if not (folder / name).is_file():
            raise Missing(f"no text of the licence {name}: install the package base-files, without a path-exclude of dpkg")
        names.setdefault((folder / name).resolve(), []).append(name)
    for file in sorted(names):
        yield ", ".join(names[file]), file.read_text(errors="replace")


def section(title, text):
    return f"\n{RULE}\n{title}\n{RULE}\n\n{text.strip(chr(10))}\n"


def notices(rows, packages, with_sources, docs=DOCS, common=COMMON_LICENCES, cache=CACHE):
    """The whole text; `with_sources`: also where the source is of what is under GNU licences. Raises Missing with the first
    package that is not there."""
    body, sources, gnu = "", [], set()
    for row in sorted(rows, key=lambda row: row["name"].lower()):
        if "file" in row:
            version, text = "", file_text(row)
        elif "pypi" in row:
            version, text = pypi_text(row, cache)
        else:
            package, text = debian_text(row, packages, docs)
            version = package.upstream
            if row.get("gather"):
                text = gathered(text)
            if with_sources and (licences := GNU_LICENCE.findall(row["licence"])):
                sources.append(f"{row['name']}: {package.source}={package.version}\n    {SNAPSHOT}/{package.source}/{package.version}/\n")
                gnu |= {name.removesuffix(".0") for name in licences}
        body += section(" ".join(filter(None, [row["name"], version])) + f"    {row['licence']}", text)
    if sources:
        body = section("Source code", SOURCES + "\n" + "".join(sources)) + body
    return HEAD + body + "".join(section(f"Referred to above: {name}", text) for name, text in common_licences(body, gnu, common))


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
            source = next((packages[package].base for package, _ in owners if package in packages), None)
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
        file.write_text(notices(rows, installed_packages(), with_sources=parcel == "image"))
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
