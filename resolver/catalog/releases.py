#!/usr/bin/env python3
"""releases.yaml, checked: what generators ask it, and the header of constants that the build makes of it.

  releases.py releases.yaml OUT.h
"""
import pathlib
import sys

import shape
from shape import fields, list_of, of_type, text

SOURCE = pathlib.Path(__file__).with_name("releases.yaml")
MAIN = 99  # the newest code read, above every minor number


class Known:
    """The lists that are made of releases.yaml; "main" ends the two of them."""

    def __init__(self, document):
        core = document["core"]["releases"]
        self.stacks = {name: (stack["repository"], stack["main"]) for name, stack in document.items()}
        self.core = [row["release"] for row in core] + ["main"]
        self.bridge = [row["release"] for row in document["bridge"]["releases"]] + ["main"]
        self.core_of_bridge = {row["release"]: row["core"] for row in document["bridge"]["releases"]} | {"main": "main"}
        self.first_command_line = next(row["release"] for row in core if row.get("command_line", True))
        self.loongforge_core = document["loongforge"]["core"]
        self.tags = {("core", row["release"]): row["tag"] for row in core}
        self.tags.update((("bridge", row["release"]), row["tag"]) for row in document["bridge"]["releases"])


def number(release):
    """0.17 -> 17, main -> MAIN."""
    return MAIN if release == "main" else int(release.split(".")[1])


def release_name(value, where):
    major, _, minor = value.partition(".") if type(value) is str else ("", "", "")
    if major != "0" or not minor.isdigit() or not 0 < int(minor) < MAIN:
        yield "%s: must be a release such as \"0.19\", not %r" % (where, value)


def faults_of(document):
    flag = of_type(bool)
    common = {"repository": text, "main": text}
    core = fields({"release": release_name, "tag": text, "command_line": flag}, required=("release", "tag"))
    bridge = fields({"release": release_name, "tag": text, "core": release_name}, required=("release", "tag", "core"))
    stacks = {
        "core": fields({**common, "releases": list_of(core)}, required=(*common, "releases")),
        "bridge": fields({**common, "releases": list_of(bridge)}, required=(*common, "releases")),
        "loongforge": fields({**common, "core": release_name}, required=(*common, "core")),
    }
    faults = list(fields(stacks, required=stacks)(document, "the file"))
    yield from faults or faults_across(document)


def faults_across(document):
    """What a row alone does not show."""
    for stack in ("core", "bridge"):
        numbers = [number(row["release"]) for row in document[stack]["releases"]]
        if not numbers or numbers != sorted(set(numbers)):
            yield "%s.releases: must be different releases, oldest first" % stack
    read = [row.get("command_line", True) for row in document["core"]["releases"]]
    if read != sorted(read) or not any(read):
        yield "core.releases: command lines must have been read from one release on"
    known = [row["release"] for row in document["core"]["releases"]]
    pins = [row["core"] for row in document["bridge"]["releases"]] + [document["loongforge"]["core"]]
    yield from ("core %s is no row of core.releases" % pin for pin in pins if pin not in known)


def load(path=SOURCE):
    return Known(shape.load(path, faults_of))


def numbers_of(names):
    return ", ".join("kMain" if name == "main" else str(number(name)) for name in names)


def header(known):
    return f"""// Generated from resolver/catalog/releases.yaml. Do not edit.
#pragma once

#include <array>

namespace flightplan {{

// Releases are minor numbers (0.17 is 17); kMain is the newest code read.
inline constexpr int kMain = {MAIN};

// Those whose code was read, oldest first.
inline constexpr std::array<int, {len(known.core)}> kCoreReleases = {{{numbers_of(known.core)}}};
inline constexpr std::array<int, {len(known.bridge)}> kBridgeReleases = {{{numbers_of(known.bridge)}}};
// The Megatron-Core release that each Bridge release pins, in the order of kBridgeReleases.
inline constexpr std::array<int, {len(known.bridge)}> kBridgeCores = {{{numbers_of(map(known.core_of_bridge.get, known.bridge))}}};
// The first Megatron-Core release whose command line was read; of older ones the config classes were.
inline constexpr int kFirstCommandLine = {number(known.first_command_line)};
// The Megatron-Core release that LoongForge's fork is made from.
inline constexpr int kLoongForgeCore = {number(known.loongforge_core)};

}}  // namespace flightplan
"""


def main():
    source, target = sys.argv[1:3]
    pathlib.Path(target).write_text(header(load(source)), encoding="utf-8")


if __name__ == "__main__":
    main()
