#!/usr/bin/env python3
"""Writes files of clients/web, gzipped, as C++ functions that a header declares.  usage: embed_report.py OUT.cc HEADER.h FUNCTION=FILE..."""
import gzip
import pathlib
import sys

LINE = 24  # bytes a line


def function(name, path):
    packed = gzip.compress(pathlib.Path(path).read_bytes(), 9, mtime=0)
    lines = [", ".join(str(one) for one in packed[at:at + LINE]) for at in range(0, len(packed), LINE)]
    return f"""namespace {{

constexpr unsigned char k{name}[] = {{
{",".join(line + chr(10) for line in lines)}}};

}}  // namespace

absl::string_view {name}() {{ return {{reinterpret_cast<const char*>(k{name}), sizeof(k{name})}}; }}
"""


def main():
    out, header, *files = sys.argv[1:]
    functions = "\n".join(function(*one.split("=", 1)) for one in files)
    pathlib.Path(out).write_text(f"""// Made by clients/cli/embed_report.py.
#include "{header}"

namespace flightplan::cli {{
{functions}
}}  // namespace flightplan::cli
""")


if __name__ == "__main__":
    main()
