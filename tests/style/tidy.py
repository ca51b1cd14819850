#!/usr/bin/env python3
"""clang-tidy over the sources, with the checks of .clang-tidy: no finding may stand.

Headers cost most of a run, so sources that are compiled alike are read together, as in a unity build; a source that cannot
share a translation unit with others (two helpers of one name) is read in the next batch. What was found clean is remembered
by the content of the source, of every header of this repository that it includes, and of the configuration, so a second run
reads what changed since the first alone."""
import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from sources import ROOT, tracked

TIDY, CLANG = "clang-tidy-14", "clang++-14"
BATCH = 24
# Headers that findings are shown of: not what the build generates, nor the emulation of CUDA, whose names are CUDA's.
OURS = f"^{re.escape(str(ROOT))}/(clients/|probe/(device/|fit/|kernels/|method/|[^/]*$)|resolver/|service/|tests/)"
EMULATION = ROOT / "probe/emulation"
DIAGNOSTIC = re.compile(r"^(/[^:\n]+):\d+:\d+: (?:warning|error|fatal error): .*$", re.M)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
# What GCC knows and clang does not, and what has no say in what is found.
DROPPED = {"-Winvalid-pch", "-fpch-preprocess", "-Werror", "-Wno-maybe-uninitialized", "-Wno-restrict", "-Wno-stringop-overflow",
           "-Wno-stringop-overread"}


class Source:
    """A source file and how it is compiled."""

    def __init__(self, path, flags):
        self.path, self.flags = path, flags


def flags_of(entry):
    words, kept, skip = shlex.split(entry["command"])[1:], [], False
    for word, after in zip(words, words[1:] + [""]):
        if skip:
            skip = False
        elif word in ("-o", "-c") or word == "-include" and "cmake_pch" in after:
            skip = True
        elif word not in DROPPED and not word.startswith("-O"):
            kept.append(word)
    return tuple(kept)


def sources_of(build):
    """The C++ of this repository that the build compiles; what it generates is its generators' business."""
    ours = set(tracked("*.cc"))
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if path in ours and EMULATION not in path.parents:
            found.setdefault(path, Source(path, flags_of(entry)))
    return [found[path] for path in sorted(found)]


@functools.lru_cache(maxsize=None)
def included(path):
    """The headers of this repository that the file names itself."""
    names = INCLUDE.findall(path.read_text(errors="replace"))
    return tuple(p for name in names for p in (ROOT / name, path.parent / name) if p.is_file())


def closure(path):
    seen, todo = set(), [path]
    while todo:
        at = todo.pop()
        if at not in seen:
            seen.add(at)
            todo += included(at)
    return sorted(seen)


@functools.lru_cache(maxsize=None)
def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def folder_of(source):
    """Whose configuration holds: a test beside the library may do what the library may not, such as read a file."""
    return ROOT if source.path.name.endswith("_test.cc") else source.path.parent


@functools.lru_cache(maxsize=None)
def config_for(folder):
    """The configuration that holds in a folder, with what it inherits."""
    return subprocess.run([TIDY, "--dump-config", str(folder / "x.cc"), "--"], cwd=folder, check=True, capture_output=True,
                          text=True).stdout


def key_of(source):
    parts = [config_for(folder_of(source)), " ".join(source.flags)]
    parts += [f"{path.relative_to(ROOT)} {digest(path)}" for path in closure(source.path)]
    return hashlib.sha256("\n".join(parts).replace(str(ROOT), "").encode()).hexdigest()


def changed_since(revision):
    names = subprocess.run(["git", "diff", "--name-only", revision], cwd=ROOT, check=True, capture_output=True,
                           text=True).stdout.split()
    names += subprocess.run(["git", "ls-files", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True,
                            text=True).stdout.split()
    return {ROOT / name for name in names if (ROOT / name).is_file()}


def touched(sources, changed):
    """Sources that changed, and for a header that changed one source that includes it: its namesake where that is there."""
    chosen = {s.path for s in sources if s.path in changed}
    for header in (p for p in changed if p.suffix == ".h"):
        users = [s.path for s in sources if header in closure(s.path)]
        namesake = [p for p in users if p.stem == header.stem and p.parent == header.parent]
        if users and not chosen & set(users):
            chosen.add((namesake or users)[0])
    return [s for s in sources if s.path in chosen]


def batches(sources):
    """Sources with the same flags and the same configuration, BATCH at a time."""
    alike = {}
    for source in sources:
        alike.setdefault((source.flags, config_for(folder_of(source))), []).append(source)
    return [group[i:i + BATCH] for group in alike.values() for i in range(0, len(group), BATCH)]


def unity(folder, batch):
    file = pathlib.Path(folder, "unity.cc")
    file.write_text("".join(f'#include "{source.path}"\n' for source in batch))
    return file


def alone(folder, batch):
    """Sources that do not compile in one unit with those before them."""
    if len(batch) == 1:
        return []
    out = subprocess.run([CLANG, "-fsyntax-only", "-w", "-ferror-limit=0", *batch[0].flags, str(unity(folder, batch))],
                         capture_output=True, text=True).stderr
    named = {pathlib.Path(m.group(1)) for m in DIAGNOSTIC.finditer(out)}
    evicted = [s for s in batch if s.path in named]
    if named and not evicted or len(evicted) == len(batch):
        return batch[1:]
    return evicted


def tidy(batch):
    """(batch that was read, what it printed, sources still to read)"""
    with tempfile.TemporaryDirectory() as folder:
        later, evicted = [], alone(folder, batch)
        while evicted:
            later += evicted
            batch = [s for s in batch if s not in evicted]
            evicted = alone(folder, batch)
        # clang-tidy sees the unit in the folder of its sources, whose configuration holds; nothing is written there.
        seen, overlay = folder_of(batch[0]) / "unity_of_tidy.cc", pathlib.Path(folder, "overlay.yaml")
        overlay.write_text(json.dumps({"version": 0, "use-external-names": False, "roots": [{
            "name": str(seen), "type": "file", "external-contents": str(unity(folder, batch))}]}))
        out = subprocess.run([TIDY, "--quiet", f"--vfsoverlay={overlay}", f"--header-filter={OURS}",
                              "--checks=-bugprone-suspicious-include", str(seen), "--", *batch[0].flags],
                             cwd=ROOT, capture_output=True, text=True)
    printed = out.stdout if not out.returncode else out.stdout + out.stderr
    return batch, printed if out.returncode or DIAGNOSTIC.search(out.stdout) else "", later


def run(sources, jobs, remember):
    """Reads all of them; what was printed, batch by batch."""
    found, todo = [], batches(sources)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        while todo:
            again = []
            for batch, printed, later in pool.map(tidy, todo):
                named = {pathlib.Path(m.group(1)) for m in DIAGNOSTIC.finditer(printed)}
                if printed:
                    found.append(printed)
                    print(printed, flush=True)
                if named or not printed:
                    remember([s for s in batch if not named & set(closure(s.path))])
                again += later
            todo = batches(again)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="a folder with compile_commands.json")
    parser.add_argument("--since", metavar="REVISION", help="only what differs from there")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path.home() / ".cache/flightplan/tidy")
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="only these")
    options = parser.parse_args()
    if shutil.which(TIDY) is None or shutil.which(CLANG) is None:
        print(f"skipped: {TIDY} and {CLANG} are not installed")
        return 77
    sources = sources_of(options.build)
    if not sources:
        print(f"no sources in {options.build}")
        return 1
    if options.since:
        sources = touched(sources, changed_since(options.since))
    if options.files:
        wanted = {path.resolve() for path in options.files}
        sources = [s for s in sources if s.path in wanted]
    options.cache.mkdir(parents=True, exist_ok=True)
    keys = {source.path: key_of(source) for source in sources}
    todo = [s for s in sources if not (options.cache / keys[s.path]).exists()]
    print(f"clang-tidy: {len(sources)} sources, {len(todo)} of them new or changed", flush=True)
    found = run(todo, options.jobs, lambda batch: [(options.cache / keys[s.path]).touch() for s in batch])
    findings = {m.group(0) for text in found for m in DIAGNOSTIC.finditer(text)}
    print(f"{len(findings)} findings" if findings or found else "clean")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
