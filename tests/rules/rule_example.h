// Reads the example tables beside the rules (resolver/rules/*/*.cases.yaml): for each id a config that fires it, its
// nearest neighbour that does not, and every fix of the finding.
//
//   - id: bridge-ep-overlap.requires-ep
//     fires: {target: bridge, knobs: {comm_overlap.overlap_moe_expert_parallel_comm: true}, env: {torch: "2.9.0"}}
//     passes: {knobs: {expert_model_parallel_size: 8}}      # only what differs from `fires`
//
// Under every core example stands a small model (8 layers, 1024 wide, 16 heads), so that it needs to say only what it
// is about, and `unfixable: why` says why an error has no fix; the other targets start from the class defaults. target:
// core, megatron-lm, bridge, loongforge, slime, ms-swift, verl, nemo-rl, miles, vime, primus, flagscale or roll, with
// @RELEASE for another than main (bridge@0.5). A change needs no fix: it "fires" when it leaves a trace, and
// `writes: {knob: value}` says every value that it writes. One that only hands values on, and leaves no trace, is
// `handed_on: true`: then the configuration that will run must hold what `writes` says.
//
// A fix that works by its forecast, which the resolver's own tests cover, is `forecast: true`.
//
// What only a reader can find has the text of a launch in place of knobs, `launch: "..."`, and `format`, its name as of
// --input-format; it is read, then judged.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "resolver/base/yaml.h"
#include "resolver/plan/config.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/found.h"
#include "resolver/plan/value.h"

namespace flightplan {

// One row. The nodes are those of the table's document, which must outlive it.
struct RuleExample {
  std::string where;  // file:line
  std::string id;
  const YamlNode* fires = nullptr;
  const YamlNode* passes = nullptr;
  const YamlNode* writes = nullptr;
  bool unfixable = false;
  bool handed_on = false;
  bool forecast = false;
};

struct ExampleLaunch {
  Config config;
  Environment env;
  Found found;
};

// As the row writes it: a quoted scalar is text.
Value ValueOfYaml(const YamlNode& node);

// `fires`, and on top of it `passes` where it is given. What the row gets wrong fails the test.
ExampleLaunch BuildLaunch(const RuleExample& example, bool passes);

// The ids that reading and judging a launch finds.
std::set<std::string> IdsOfLaunch(const YamlNode& row);

// The paths of all tables, sorted.
std::vector<std::string> ExampleFiles();

}  // namespace flightplan
