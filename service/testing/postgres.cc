#include "service/testing/postgres.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <array>
#include <cstdio>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "service/evidence/postgres_connection.h"

namespace flightplan::service {
namespace {

const std::string& Folder() {
  static const std::string* const kFolder = [] {
    std::string name = "/tmp/flightplan-postgres-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    chmod(name.c_str(), 0711);  // the server runs as another user
    std::atexit([] {
      TestPostgres::Do("stop");
      (void)std::system(absl::StrCat("rm -rf ", Folder()).c_str());
    });
    return new std::string(name);
  }();
  return *kFolder;
}

std::string Script(const std::string& action) {
  const std::string command =
      absl::StrCat(FLIGHTPLAN_SOURCE_DIR, "/tests/support/postgres.sh ", action, " ", Folder(), "/pg 2>/dev/null");
  FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 512> line{};
  std::string out;
  while (pipe != nullptr && fgets(line.data(), line.size(), pipe) != nullptr) out += line.data();
  if (pipe != nullptr) pclose(pipe);
  return std::string(absl::StripAsciiWhitespace(out));
}

}  // namespace

void TestPostgres::Do(const std::string& action) { Script(action); }

std::string TestPostgres::NewDatabase() {
  static const std::string* const kUrl = new std::string(Script("start"));
  static int databases = 0;
  if (kUrl->empty()) return "";
  const std::string name = absl::StrCat("test_", ++databases);
  auto connection = PgConnection::Open(*kUrl, absl::Seconds(10));
  if (!connection.ok() || !(*connection)->Execute(absl::StrCat("CREATE DATABASE ", name).c_str()).ok()) return "";
  return absl::StrReplaceAll(*kUrl, {{"/postgres?", absl::StrCat("/", name, "?")}});
}

}  // namespace flightplan::service
