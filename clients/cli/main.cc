#include <string>
#include <vector>

#include "clients/cli/command.h"
#include "clients/cli/standard_streams.h"

// Before any other initializer: one of gRPC's opens a descriptor, and takes standard input's number if that is free.
__attribute__((constructor(101))) static void BeforeInitializers() { flightplan::cli::OpenStandardStreams(); }

int main(int argc, char** argv) {
  flightplan::cli::Context context;
  context.terminal = flightplan::cli::Terminal::Detect();
  const int code =
      flightplan::cli::RunCommandLine(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc), context);
  return flightplan::cli::WriteStandardStreams(context.out, context.err, code);
}
