#!/usr/bin/env python3
"""catalog/profiles/*.json -> C++: gen_recorded_profiles.py OUT FILE..."""
import json
import pathlib
import sys

out, files = pathlib.Path(sys.argv[1]), [pathlib.Path(name) for name in sys.argv[2:]]
lines = ['// Generated from resolver/catalog/profiles.', '#include "resolver/catalog/recorded_profiles.h"', "",
         "namespace flightplan {", "namespace {", ""]
for i, file in enumerate(files):
    text = json.dumps(json.loads(file.read_text()), separators=(",", ":"))
    # A compiler takes string literals up to a limit; adjacent ones are joined.
    parts = [text[at:at + 8000] for at in range(0, len(text), 8000)]
    lines.append(f"constexpr char kText{i}[] =")
    lines.append("\n".join(f'    R"json({part})json"' for part in parts) + ";")
lines += ["", f"constexpr std::size_t kCount = {len(files)};",
          f"constexpr RecordedProfileFile kFiles[{max(1, len(files))}] = {{"]
lines += [f'    {{"{file.name}", {{kText{i}, sizeof(kText{i}) - 1}}}},' for i, file in enumerate(files)]
lines += ["};", "", "}  // namespace", "",
          "const absl::Span<const RecordedProfileFile> kRecordedProfileFiles(kFiles, kCount);", "",
          "}  // namespace flightplan", ""]
out.write_text("\n".join(lines))
