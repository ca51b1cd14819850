#!/usr/bin/env python3
"""Writes the files of a folder, gzipped, as a C++ table of service/web/web_assets.h.

embed_assets.py OUT.cc [DIR]: without DIR the table is empty.
"""
import gzip
import hashlib
import pathlib
import sys

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
    ".map": "application/json",
    ".wasm": "application/wasm",
}
HEAD = """// Made by service/web/embed_assets.py.
#include "service/web/web_assets.h"

namespace flightplan::service {
"""
TAIL = """
}  // namespace flightplan::service
"""
LINE = 24  # bytes a line


def bytes_of(name, data):
    lines = [", ".join(str(one) for one in data[at:at + LINE]) for at in range(0, len(data), LINE)]
    return f"constexpr unsigned char {name}[] = {{\n" + ",\n".join(lines) + "};\n"


def table(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    arrays, rows = [], []
    for number, path in enumerate(files):
        if path.suffix not in TYPES:
            sys.exit(f"{path}: no type is known for {path.suffix}; add it to {__file__}")
        plain = path.read_bytes()
        packed = gzip.compress(plain, 9, mtime=0)
        arrays.append(bytes_of(f"kFile{number}", packed))
        etag = hashlib.sha256(plain).hexdigest()[:32]
        rows.append(f'    {{"/{path.relative_to(folder).as_posix()}", "{TYPES[path.suffix]}", "\\"{etag}\\"",\n'
                    f"     {{reinterpret_cast<const char*>(kFile{number}), sizeof(kFile{number})}}, {len(plain)}}},\n")
    return arrays, rows


def main():
    out = pathlib.Path(sys.argv[1])
    arrays, rows = table(pathlib.Path(sys.argv[2])) if len(sys.argv) > 2 else ([], [])
    text = HEAD
    if rows:
        text += "namespace {\n\n" + "".join(arrays) + "\n}  // namespace\n\n"
        text += "absl::Span<const WebAsset> BuiltInAssets() {\n  static const WebAsset kAssets[] = {\n"
        text += "".join(rows) + "  };\n  return kAssets;\n}\n"
    else:
        text += "\nabsl::Span<const WebAsset> BuiltInAssets() { return {}; }\n"
    out.write_text(text + TAIL)


if __name__ == "__main__":
    main()
