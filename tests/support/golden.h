// Golden text files of the tests: compared, or rewritten with UPDATE_GOLDEN=1 and reviewed as a diff.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace flightplan::cli {

inline void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = absl::StrCat(FLIGHTPLAN_CLI_TESTDATA, "/", name);
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file.good()) << path << " is missing; run with UPDATE_GOLDEN=1";
  std::ostringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(text, golden.str()) << "if this is meant, run with UPDATE_GOLDEN=1 and read the diff";
}

}  // namespace flightplan::cli
