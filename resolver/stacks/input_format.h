// How a configuration may be written, by name, and which reader reads it. What a caller does not name is recognised
// from the target, the file's name and its first lines: always the same way, never by trying readers in turn.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/reading.h"

namespace flightplan {

struct EditedText;  // stacks/edit_launch.h
struct YamlNode;    // base/yaml.h
using YamlPlace = std::string (*)(Knob knob, const YamlNode& root);

struct InputFormat {
  absl::string_view name;
  // Words after the script's name. Null: not written as arguments.
  ParseResult (*arguments)(absl::Span<const Argument> args, const Environment& env) = nullptr;
  // A file as a whole. Null: its words are read as arguments.
  ParseResult (*file)(absl::string_view text, const Environment& env) = nullptr;
  // The JSON Schema of such a file, for editors. Null: it is no YAML.
  std::string (*schema)() = nullptr;
  // Whether the keys of a YAML file are such a file's and no other program's. Null: they do not tell.
  bool (*keys)(absl::string_view text) = nullptr;
  // Why such a file, by what it says of itself, is of no training; empty: it is of one. Null: none says.
  std::string (*no_training)(absl::string_view text) = nullptr;
  // What such a file leaves out stands elsewhere: it changes a configuration, and is none. Without `edit` nothing is
  // written into it.
  bool part = false;
  // Writes a patch into such a file. Null: it is edited as YAML.
  EditedText (*edit)(absl::string_view text, absl::Span<const ParsedKnob> knobs, const Patch& patch) = nullptr;
  // The keys, from the root, that lead to a knob in such a file: "policy.megatron_cfg.moe_grouped_gemm"; empty: it has
  // no place for it. Null: the knob's name is a key at the root, or of its section.
  YamlPlace place = nullptr;
};

struct NamedFormat {
  Target target{};
  const InputFormat* format = nullptr;
};
// Every format, a stack's usual one for arguments first. A shell script is none of them: it holds arguments.
std::vector<NamedFormat> InputFormats();
inline constexpr absl::string_view kShellFormat = "shell";
// A recipe or script in Python; a format of Megatron-Bridge alone.
inline constexpr absl::string_view kPythonFormat = "bridge-python";

// Why a YAML file of the target is of no training: it serves a model. Empty: it may be of one.
std::string WhyNoTraining(Target target, absl::string_view text);

// Why a Python file is no recipe: it puts a launch together. Empty: it may be one.
std::string WhyNoRecipe(absl::string_view text);

// The format of that name for the target, or null.
const InputFormat* FindInputFormat(absl::string_view name, Target target);
// "shell, argv, megatron-lm-yaml": what a target can be given as a file, or "argv": as arguments; for messages.
std::string InputFormatNames(Target target, bool file);

// Of arguments. `script`: the Python file that a shell script runs, which may say it by its name; or empty.
const InputFormat& RecogniseArguments(absl::Span<const Argument> args, absl::string_view script, Target target);

// Of a file: by its ending (.yaml, .yml; .sh, .bash, .sbatch, .slurm), else by its first line that is neither blank nor
// a comment: "#!" a script, "--flag" or "section.field=value", also below a word alone ("sft"), one argument a line,
// and so are lines of "field=value" with no command below them, of a stack that takes overrides; "key:" YAML, anything
// else a script.
absl::string_view RecogniseFile(absl::string_view name, absl::string_view text, Target target);

// One argument a line, as `--format argv` prints them; a line that begins with "-" may hold its values too. Lines that
// begin with # are comments. Of more than kMaxWords the first, and one more that says so.
std::vector<Argument> ArgumentsOfLines(absl::string_view text);

}  // namespace flightplan
