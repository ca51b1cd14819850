// One function for each subcommand; each lives in the file of its name.
#pragma once

#include "clients/cli/command.h"

namespace flightplan::cli {

int RunResolve(Arguments args, Context& context);
int RunPlan(Arguments args, Context& context);
int RunDiff(Arguments args, Context& context);
int RunValidate(Arguments args, Context& context);
int RunFix(Arguments args, Context& context);
int RunFingerprint(Arguments args, Context& context);
int RunConvert(Arguments args, Context& context);
int RunTimeline(Arguments args, Context& context);
int RunExplain(Arguments args, Context& context);
int RunSite(Arguments args, Context& context);
int RunRules(Arguments args, Context& context);
int RunKnobs(Arguments args, Context& context);
int RunModels(Arguments args, Context& context);
int RunGpus(Arguments args, Context& context);
int RunProbe(Arguments args, Context& context);
int RunMcp(Arguments args, Context& context);
int RunLsp(Arguments args, Context& context);
int RunObserve(Arguments args, Context& context);
int RunServe(Arguments args, Context& context);
int RunSchema(Arguments args, Context& context);
int RunCompletion(Arguments args, Context& context);
int RunMan(Arguments args, Context& context);
int RunVersion(Arguments args, Context& context);
int RunHelp(Arguments args, Context& context);

// The JSON Schema of the file of `flightplan serve --config`. Empty: this build is without the server.
std::string ServeConfigSchema();

}  // namespace flightplan::cli
