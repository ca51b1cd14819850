#!/usr/bin/env python3
"""Writes the page of reports, gzipped, as a C++ function of clients/cli/report.h.  usage: embed_report.py OUT.cc REPORT.html"""
import gzip
import pathlib
import sys

LINE = 24  # bytes a line


def main():
    packed = gzip.compress(pathlib.Path(sys.argv[2]).read_bytes(), 9, mtime=0)
    lines = [", ".join(str(one) for one in packed[at:at + LINE]) for at in range(0, len(packed), LINE)]
    pathlib.Path(sys.argv[1]).write_text(f"""// Made by clients/cli/embed_report.py.
#include "clients/cli/report.h"

namespace flightplan::cli {{
namespace {{

constexpr unsigned char kPage[] = {{
{",".join(line + chr(10) for line in lines)}}};

}}  // namespace

absl::string_view PackedReportPage() {{ return {{reinterpret_cast<const char*>(kPage), sizeof(kPage)}}; }}

}}  // namespace flightplan::cli
""")


if __name__ == "__main__":
    main()
