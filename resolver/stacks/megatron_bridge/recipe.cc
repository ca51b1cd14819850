// scripts/training/run_recipe.py of Megatron-Bridge: flags for what is overridden most often, then overrides,
// which win. Read from NVIDIA-NeMo/Megatron-Bridge@067f987df scripts/training/run_recipe.py.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/nearest.h"
#include "resolver/catalog/library_recipes.h"
#include "resolver/catalog/perf_recipes.h"
#include "resolver/stacks/megatron_bridge/dialect.h"
#include "resolver/stacks/megatron_bridge/override_reader.h"
#include "resolver/stacks/megatron_bridge/start.h"
#include "resolver/stacks/written_knobs.h"

namespace flightplan {
namespace {

using K = Knob;

struct RecipeFlag {
  absl::string_view name;
  absl::string_view other = "";  // its second spelling
  std::optional<K> knob = std::nullopt;
  bool integer = false;
  bool takes_value = true;
};

constexpr std::array<RecipeFlag, 25> kFlags = {{
    {"--model", "", K::launch_recipe},
    {"--recipe", "", K::launch_recipe},
    {"--mode"},
    {"--step-func", "--step_func"},
    {"--dataset"},
    {"--max_steps", "-ms", K::train_iters, true},
    {"--global_batch_size", "-gb", K::global_batch_size, true},
    {"--micro_batch_size", "-mb", K::micro_batch_size, true},
    {"--seq_length", "-sl", K::seq_length, true},
    {"--tensor_model_parallel_size", "-tp", K::tensor_model_parallel_size, true},
    {"--pipeline_model_parallel_size", "-pp", K::pipeline_model_parallel_size, true},
    {"--context_parallel_size", "-cp", K::context_parallel_size, true},
    {"--virtual_pipeline_model_parallel_size", "-vp", K::virtual_pipeline_model_parallel_size, true},
    {"--expert_model_parallel_size", "-ep", K::expert_model_parallel_size, true},
    {"--expert_tensor_parallel_size", "-etp", K::expert_tensor_parallel_size, true},
    {"--lr"},
    {"--min_lr"},
    {"--warmup_iters", "", K::lr_warmup_iters, true},
    {"--pretrained_checkpoint", "", K::pretrained_checkpoint},
    {"--save_dir", "", K::save},
    {"--load_dir", "", K::load},
    {"--save_interval", "", K::save_interval, true},
    {"--dry-run", "--dry_run", std::nullopt, false, false},
    {"--deterministic", "", std::nullopt, false, false},
    {"--dump-env", "--dump_env", std::nullopt, false, false},
}};

const RecipeFlag* FindFlag(absl::string_view name) {
  for (const RecipeFlag& flag : kFlags) {
    if (name == flag.name || (!flag.other.empty() && name == flag.other)) return &flag;
  }
  return nullptr;
}

void Unknown(const Argument& word, absl::string_view name, OverrideReader* reader) {
  std::vector<absl::string_view> names;
  names.reserve(kFlags.size());
  for (const RecipeFlag& flag : kFlags) names.push_back(flag.name);
  const absl::string_view nearest = NearestName(name, names);
  reader->Refuse(word, OverrideReader::kUnknown, Printable(word.text),
                 nearest.empty() ? "run_recipe.py has no such flag" : absl::StrCat("did you mean ", nearest, "?"));
}

// scripts/training/recipe_metadata.py:223; the mode comes behind, wherever it stands.
bool NamesAdapters(absl::string_view recipe) {
  return absl::StrContains(recipe, "_peft_") || absl::StrContains(recipe, "_lora_");
}

// What the words choose: a function by its name, or a model's for the mode (scripts/training/run_recipe.py:420).
struct Choice {
  std::string recipe, model, mode;

  void Take(absl::string_view flag, absl::string_view text) {
    if (flag == "--recipe") recipe = std::string(text);
    if (flag == "--model") model = std::string(text);
    if (flag == "--mode") mode = std::string(text);
  }
  std::string Function() const {
    const bool adapters = mode == "lora" || mode == "dora";
    return !recipe.empty() ? recipe : absl::StrCat(model, "_", adapters ? "peft" : mode, "_config");
  }
};

void Keep(const Argument& word, const RecipeFlag& flag, absl::string_view text, OverrideReader* reader, bool unknown) {
  if (unknown) {
    if (flag.knob.has_value()) reader->MarkUnknown(*flag.knob);
    if (flag.knob == K::seq_length) reader->MarkUnknown(K::dataset_seq_length);
    return;
  }
  if (flag.name == "--mode" && (text == "lora" || text == "dora")) reader->Keep(K::peft_scheme, Value(text), word.at);
  if (!flag.knob.has_value()) return;
  if (!flag.integer) return reader->Keep(*flag.knob, Value(text), word.at);
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number)) {
    return reader->Refuse(word, OverrideReader::kUnreadable, absl::StrCat(flag.name, " ", Printable(text)),
                          "an integer");
  }
  reader->Keep(*flag.knob, Value(number), word.at);
  if (*flag.knob == K::seq_length) reader->Keep(K::dataset_seq_length, Value(number), word.at);
}

// scripts/training/recipe_runner.py:471: after all overrides the model's length is the dataset's, so that a length that
// only the model's section says is not what is trained.
void FollowTheDataset(ParseResult* result) {
  const WrittenKnobs written(result);
  const ParsedKnob* const dataset = written.Last(K::dataset_seq_length);
  const bool hidden = written.Unknown(K::dataset_seq_length);
  if (dataset == nullptr && !hidden) return;
  result->unknown.erase(std::remove(result->unknown.begin(), result->unknown.end(), K::seq_length),
                        result->unknown.end());
  if (hidden) {
    result->unknown.push_back(K::seq_length);
    return;
  }
  const ParsedKnob* const model = written.Last(K::seq_length);
  if (model != nullptr && model->value == dataset->value) return;
  ParsedKnob follows = *dataset;
  follows.knob = K::seq_length;
  if (model != nullptr && model->origin == Origin::kCaller) {
    const std::string said = model->value.ToText();
    KeepFinding(
        MakeParseFinding(model->at, "bridge-recipe.dataset-length", Severity::kWarning,
                         absl::StrCat("model.seq_length=", said, ", dataset.seq_length=", dataset->value.ToText()),
                         absl::StrCat("run_recipe.py trains at the dataset's length, whatever the model's "
                                      "section says: --seq_length ",
                                      said, " sets both"),
                         "Megatron-Bridge:scripts/training/recipe_runner.py:486"),
        &result->findings);
    follows.at = model->at;
  }
  result->knobs.push_back(std::move(follows));
}

// One byte more, less or another, or two that changed places; a figure makes another model.
bool IsMisspelt(absl::string_view name, absl::string_view known) {
  while (!name.empty() && !known.empty() && name.front() == known.front()) {
    name.remove_prefix(1);
    known.remove_prefix(1);
  }
  while (!name.empty() && !known.empty() && name.back() == known.back()) {
    name.remove_suffix(1);
    known.remove_suffix(1);
  }
  const auto figure = [](absl::string_view text) { return absl::c_any_of(text, absl::ascii_isdigit); };
  if (figure(name) || figure(known)) return false;
  const bool swapped = name.size() == 2 && known.size() == 2 && name[0] == known[1] && name[1] == known[0];
  return swapped || (name.size() <= 1 && known.size() <= 1);
}

// A function that the library does not have, and all but has. Of another name no more is known.
void JudgeName(const std::string& function, ParseResult* result) {
  const ParsedKnob* const written = WrittenKnobs(result).Last(K::launch_recipe);
  if (written == nullptr || FindLibraryRecipe(function) != nullptr || FindPerfRecipe(function) != nullptr) return;
  const auto all = LibraryRecipes();
  const auto meant = absl::c_find_if(all, [&](const LibraryRecipe& r) { return IsMisspelt(function, r.name); });
  if (meant == all.end()) return;
  KeepFinding(MakeParseFinding(written->at, "bridge-recipe.name", Severity::kError, Printable(function),
                               absl::StrCat("the library has no such recipe; did you mean ", meant->name, "?"),
                               "Megatron-Bridge:scripts/training/recipe_runner.py:256"),
              &result->findings);
}

}  // namespace

ParseResult ParseBridgeRecipe(absl::Span<const Argument> args, const Environment& env) {
  const int release = NearestRelease(kBridgeReleases, env.bridge_release);
  ParseResult result, from_overrides;
  OverrideReader flags(release, &result), overrides(release, &from_overrides);
  Choice choice;
  for (size_t i = 0; i < args.size(); ++i) {
    const Argument& word = args[i];
    if (i >= kMaxArguments) {
      overrides.Refuse(word, "input.limit", absl::StrCat(args.size(), " arguments"),
                       absl::StrCat("at most ", kMaxArguments));
      break;
    }
    if (word.text == "--") continue;
    if (!absl::StartsWith(word.text, "-")) {
      overrides.Read(word);
      continue;
    }
    const size_t equals = word.text.find('=');
    const std::string name = word.text.substr(0, equals);
    const RecipeFlag* flag = FindFlag(name);
    if (flag == nullptr) {
      Unknown(word, name, &flags);
    } else if (equals != std::string::npos) {
      choice.Take(flag->name, absl::string_view(word.text).substr(equals + 1));
      Keep(word, *flag, absl::string_view(word.text).substr(equals + 1), &flags, word.unknown);
    } else if (flag->takes_value && i + 1 < args.size()) {
      choice.Take(flag->name, args[++i].text);
      Keep(word, *flag, args[i].text, &flags, args[i].unknown);
    } else if (flag->takes_value) {
      flags.Refuse(word, OverrideReader::kUnreadable, Printable(word.text), "this flag takes a value");
    } else if (flag->name == "--deterministic") {
      flags.Keep(K::deterministic_mode, Value(true), word.at);
    }
  }
  const std::optional<Recipe> start = FindRecipe(choice.Function(), release);
  if (!start.has_value()) JudgeName(choice.Function(), &result);
  const auto recipe = std::find_if(result.knobs.begin(), result.knobs.end(), [](const ParsedKnob& parsed) {
    return parsed.knob == K::launch_recipe && NamesAdapters(parsed.value.text());
  });
  if (recipe != result.knobs.end()) {
    result.knobs.insert(result.knobs.begin(), {K::peft_scheme, Value("lora"), recipe->at, Origin::kModel});
  }
  result.recipe_vars = from_overrides.recipe_vars;
  PutOver(std::move(from_overrides), &result);
  if (start.has_value()) StartFromRecipe(*start, /*batch=*/true, release, &result);
  FollowTheDataset(&result);
  return result;
}

}  // namespace flightplan
