// What a configuration will meet, as the caller said it: the target stack and its release, the libraries, the GPUs, the
// process environment. What the phases find out stands in plan/found.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/plan/knob.h"
#include "resolver/plan/value.h"
#include "resolver/plan/version.h"

namespace flightplan {

// kCore: only the Megatron-Core config class, as when it is built from Python.
enum class Target { kMegatronLm, kMegatronBridge, kLoongForge, kCore };

// Megatron's entry points read these; nothing in the table is ever executed.
using EnvVars = std::map<std::string, std::string, std::less<>>;

struct Environment {  // NOLINT(clang-analyzer-optin.performance.Padding): one per question, ordered by subject
  Target target{};
  int core_release = kMain;     // Megatron-Core minor release, kMain for the newest code read
  int bridge_release = kMain;   // Megatron-Bridge minor release
  std::string unknown_version;  // the release asked for, when it is none that was read; the nearest one is judged
  bool written = false;         // a launch or file as somebody wrote it: what it leaves out stays out
  bool mla = false;             // the MLA config class (MLATransformerConfig) is the one built

  // What the model's Hugging Face folder names it: "Qwen3MoeForCausalLM" and "qwen3_moe". Empty: not known, or loaded
  // by something else than the stack's own converter.
  std::string model_class, model_type;

  std::optional<Version> te;  // Transformer Engine; empty: not installed, or not stated
  std::optional<Version> torch;
  // False: the caller did not say which, and te or torch is that of the stack's own image, if one is known. Version
  // rules refuse nothing by it: they take it as new enough and say so.
  bool te_stated = true;
  bool torch_stated = true;
  std::optional<Version> cuda;
  std::optional<Version> nccl;
  std::map<std::string, std::string, std::less<>> packages;  // name -> version of optional packages
  std::set<std::string, std::less<>> capabilities;           // "deepep", "hybridep", "paged_stash" ...
  bool capabilities_known = false;                           // false: the caller did not say what is installed

  std::string gpu_name;  // as the driver reports it: "NVIDIA H100 80GB HBM3"
  int cc_major = 0;      // compute capability, 0: unknown
  int cc_minor = 0;
  bool has_cuda = true;
  EnvVars vars;
  EnvVars recipe_vars;  // Bridge's env_vars section: defaults, which `vars` overrides

  std::optional<int64_t> world_size;
  std::optional<int64_t> data_parallel_size;  // where a caller gives it instead of the world size

  std::map<std::string, std::string> model_files;  // by path: texts that the caller sent beside the launch
  // LoongForge: what the model's file says (and Hydra's words on top), which its config class reads once more after the
  // arguments were checked and changed.
  std::vector<std::pair<Knob, Value>> model_file;

  bool engine_apart = false;  // ParseResult::engine_apart

  int nvlink_domain_gpus = 0;  // GPUs that share one NVLink domain, 0: unknown
  int gpus_per_node = 0;
};

}  // namespace flightplan
