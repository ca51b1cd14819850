#include "tests/support/data_file.h"

#include <zlib.h>

#include <cstdlib>
#include <iostream>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace flightplan {

absl::StatusOr<std::string> ReadDataFile(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");  // reads plain files as they are
  if (file == nullptr) return absl::NotFoundError(absl::StrCat("cannot open ", path));
  std::string text;
  char block[1 << 16];
  int count = 0;
  while ((count = gzread(file, block, sizeof(block))) > 0) text.append(block, static_cast<size_t>(count));
  gzclose(file);
  if (count < 0) return absl::DataLossError(absl::StrCat(path, ": damaged gzip data"));
  // A check of no cases would pass.
  if (absl::StripAsciiWhitespace(text).empty()) return absl::DataLossError(absl::StrCat(path, ": holds nothing"));
  return text;
}

std::string ReadDataFileOrExit(const std::string& path) {
  absl::StatusOr<std::string> text = ReadDataFile(path);
  if (text.ok()) return *std::move(text);
  std::cerr << text.status().message() << "\n";
  std::exit(2);
}

}  // namespace flightplan
