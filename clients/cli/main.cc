#include <cstdio>
#include <string>
#include <vector>

#include "clients/cli/command.h"

int main(int argc, char** argv) {
  flightplan::cli::Context context;
  context.terminal = flightplan::cli::Terminal::Detect();
  const int code =
      flightplan::cli::RunCommandLine(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc), context);
  std::fwrite(context.out.data(), 1, context.out.size(), stdout);
  std::fwrite(context.err.data(), 1, context.err.size(), stderr);
  return code;
}
