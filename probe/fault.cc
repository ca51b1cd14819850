#include "probe/fault.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace flightplan::probe {
namespace {

constexpr int kRowsBefore = 2;

[[noreturn]] void Hang() {
  std::signal(SIGTERM, SIG_IGN);
  for (;;) pause();
}

[[noreturn]] void Flood(std::FILE* out, const std::string& line) {
  for (;;) std::fputs((line + "\n").c_str(), out);
}

[[noreturn]] void Say(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
  std::_Exit(0);
}

class FaultyWriter : public LineWriter {
 public:
  FaultyWriter(std::string fault, std::atomic<bool>* gone) : LineWriter(stdout, gone), fault_(std::move(fault)) {}

  void Write(const std::string& line) override {
    if (line.starts_with("{\"row\"") && ++rows_ > kRowsBefore) Misbehave(line);
    LineWriter::Write(line);
  }

 private:
  void Misbehave(const std::string& line) {
    if (fault_ == "crash") std::abort();
    if (fault_ == "hang") Hang();
    if (fault_ == "garbage") Say("\x01\xff\xfe not JSON {{{\n");
    if (fault_ == "truncated") Say(line.substr(0, line.size() / 2));
    if (fault_ == "flood") Flood(stdout, line);
    if (fault_ == "wrong_schema") Say("{\"profile\":{\"device_name\":7,\"rows\":\"none\"}}\n");
    if (fault_ == "no_profile") Say("");
    if (fault_ == "stderr_flood") Flood(stderr, "flood");
  }

  std::string fault_;
  int rows_ = 0;
};

}  // namespace

std::unique_ptr<LineWriter> MakeFaultyWriter(const std::string& fault, std::atomic<bool>* gone) {
  return std::make_unique<FaultyWriter>(fault, gone);
}

}  // namespace flightplan::probe
