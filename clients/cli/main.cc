#include <string>
#include <vector>

#include "clients/cli/command.h"
#include "clients/cli/standard_streams.h"

int main(int argc, char** argv) {
  flightplan::cli::OpenStandardStreams();
  flightplan::cli::Context context;
  context.terminal = flightplan::cli::Terminal::Detect();
  const int code =
      flightplan::cli::RunCommandLine(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc), context);
  return flightplan::cli::WriteStandardStreams(context.out, context.err, code);
}
