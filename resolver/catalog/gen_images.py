"""What the stacks' own images have installed, images.yaml -> C++. Run by the build."""
import json
import sys

import releases
import shape

BACKENDS = ("deepep", "hybridep", "ncclep")
VERSION = shape.matching(r"\d+(\.\d+)+", "a version such as \"2.17.1\"")
BUILD = shape.matching(r"\d+(\.\d+)+(a\d+)?", "a version such as \"2.13.0a0\"")
IMAGE = {"stack": shape.text, "release": shape.text, "te": VERSION, "torch": BUILD,
         "backends": shape.list_of(shape.one_of(BACKENDS)),
         "compute": shape.number(7, 99), "source": shape.list_of(shape.matching(r"[^:]+:[^:]+:\d+", "repository:file:line"))}


def faults_of(document):
    faults = list(shape.list_of(shape.fields(IMAGE, required=tuple(IMAGE)))(document, "images"))
    yield from faults
    if faults:
        return
    yield from shape.twice(["%s %s" % (row["stack"], row["release"]) for row in document], "images")
    known = releases.load()
    releases_of = {"megatron-lm": known.core, "megatron-bridge": known.bridge, "loongforge": ["main"]}
    for stack, names in releases_of.items():
        found = [row["release"] for row in document if row["stack"] == stack]
        if found != names:
            yield "%s: must have a row for each release, oldest first: %s, not %s" % (stack, names, found)
    yield from ("%s: is no stack" % row["stack"] for row in document if row["stack"] not in releases_of)


def main(source, target):
    rows = shape.load(source, faults_of)
    out = ["// Generated from images.yaml; do not edit.", '#include "resolver/catalog/images.h"', "",
           "namespace flightplan {", "namespace {", ""]
    for at, row in enumerate(rows):
        if row["backends"]:
            names = ", ".join(json.dumps(name) for name in row["backends"])
            out.append("constexpr absl::string_view kBackends%d[] = {%s};" % (at, names))
    out.append("constexpr Image kImages[] = {")
    for at, row in enumerate(rows):
        backends = "kBackends%d" % at if row["backends"] else "{}"
        out.append("    {%s, %d, %s, %s, %s, %d, %s}," % (
            json.dumps(row["stack"]), releases.number(row["release"]), json.dumps(row["te"]), json.dumps(row["torch"]), backends,
            row["compute"], json.dumps(", ".join(row["source"]))))
    out += ["};", "", "}  // namespace", "", "absl::Span<const Image> Images() { return kImages; }", "",
            "}  // namespace flightplan", ""]
    with open(target, "w", encoding="utf-8") as file:
        file.write("\n".join(out))


if __name__ == "__main__":
    main(*sys.argv[1:])
