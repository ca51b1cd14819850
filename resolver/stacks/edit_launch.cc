#include "resolver/stacks/edit_launch.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "resolver/render/launch.h"
#include "resolver/stacks/argument_file.h"
#include "resolver/stacks/text_edits.h"
#include "resolver/stacks/word_edits.h"

namespace flightplan {
namespace {

// Where NAME=`before` stands last beside other words: in front of a command, behind `env`, in a list. Nothing: nowhere,
// or where it is not clear what takes its place.
std::optional<TextEdit> AmongWords(const std::string& text, const Assignment& assignment, const std::string& before) {
  const std::string written = absl::StrCat(assignment.env_var, "=", before);
  const std::string value = assignment.value.is_none() ? "" : assignment.value.ToText();
  if (before.empty() || ShellQuote(before) != before || ShellQuote(value) != value) return std::nullopt;
  for (size_t at = text.rfind(written); at != std::string::npos; at = at == 0 ? at : text.rfind(written, at - 1)) {
    const size_t line = text.rfind('\n', at) == std::string::npos ? 0 : text.rfind('\n', at) + 1;
    const size_t end = at + written.size();
    const bool begins = at == 0 || absl::StrContains(" \t\n;&({\"',", text[at - 1]);
    const bool ends = end == text.size() || absl::StrContains(" \t\r\n;&|)}\"',", text[end]);
    if (begins && ends && !absl::StrContains(absl::string_view(text).substr(line, at - line), '#')) {
      if (!value.empty()) return TextEdit{at + assignment.env_var.size() + 1, end, value};
      // A blank goes with it, where no flag is in front of it and words follow.
      const absl::string_view front = absl::StripAsciiWhitespace(absl::string_view(text).substr(line, at - line));
      const size_t word = front.find_last_of(" \t;&|(\"'") + 1;
      const bool alone = front.substr(word) == "export" || absl::StartsWith(front.substr(word), "-");
      if (alone || end == text.size() || text[end] != ' ' || text[end - written.size() - 1] == ',') return std::nullopt;
      return TextEdit{at, end + 1, ""};
    }
    if (at == 0) break;
  }
  return std::nullopt;
}

// Where `env -u NAME` in front of a Python program takes the variable away, the option becomes the assignment. Nothing:
// nowhere, or another option follows, in front of which env takes no assignment.
std::optional<TextEdit> InPlaceOfUnset(absl::string_view text, const Assignment& assignment) {
  const std::string value = ShellQuote(assignment.value.ToText());
  for (const absl::string_view option : {"-u ", "-u", "--unset="}) {
    const std::string written = absl::StrCat(" ", option, assignment.env_var, " ");
    const size_t at = text.rfind(written);
    if (at == absl::string_view::npos) continue;
    const size_t line = text.rfind('\n', at) == absl::string_view::npos ? 0 : text.rfind('\n', at) + 1;
    const absl::string_view front = text.substr(line, at - line);
    const absl::string_view behind =
        absl::StripLeadingAsciiWhitespace(text.substr(at + written.size(), text.find('\n', at) - at - written.size()));
    const bool launches = absl::StrContains(front, "env") && !absl::StrContains(front, "#") &&
                          (absl::StrContains(behind, ".py") || absl::EndsWith(behind, "\\"));
    if (!launches || absl::StartsWith(behind, "-")) continue;
    return TextEdit{at + 1, at + written.size() - 1, absl::StrCat(assignment.env_var, "=", value)};
  }
  return std::nullopt;
}

// `before`: its value in the launch; empty: it has none. NAME=value where the script sets it last; else an export
// behind the script's first comments.
std::string WithVariable(const std::string& text, const Assignment& assignment, const std::string& before) {
  const std::string value = assignment.value.is_none() ? "" : ShellQuote(assignment.value.ToText());
  const std::string name = assignment.env_var + "=";
  const Lines lines(text);
  size_t insert = 0;
  bool heading = true;
  std::optional<TextEdit> edit;
  for (size_t at = 0; at < text.size(); at = lines.End(at)) {
    const absl::string_view whole = absl::string_view(text).substr(at, lines.End(at) - at);
    absl::string_view line = absl::StripAsciiWhitespace(whole);
    heading = heading && (line.empty() || line[0] == '#' || absl::StartsWith(line, "set "));
    if (heading) insert = lines.End(at);
    const bool exports = absl::ConsumePrefix(&line, "export ");
    if (!absl::StartsWith(line, name) || absl::StrContains(line, ";") || (!exports && absl::StrContains(line, " ")))
      continue;
    const size_t begin = static_cast<size_t>(line.data() - text.data());
    edit = assignment.value.is_none() ? TextEdit{at, lines.End(at), ""}
                                      : TextEdit{begin + name.size(), begin + line.size(), value};
  }
  // One that stands further down holds.
  if (const std::optional<TextEdit> among = AmongWords(text, assignment, before);
      among.has_value() && (!edit.has_value() || among->begin > edit->end)) {
    edit = among;
  }
  // None that is set in front of that reaches the launch.
  if (before.empty() && !assignment.value.is_none()) {
    if (std::optional<TextEdit> taken = InPlaceOfUnset(text, assignment); taken.has_value()) edit = std::move(taken);
  }
  if (!edit.has_value() && !assignment.value.is_none()) {
    edit = TextEdit{insert, insert, absl::StrCat("export ", name, value, "\n")};
  } else if (!edit.has_value()) {
    edit = TextEdit{insert, insert, absl::StrCat("unset ", assignment.env_var, "\n")};
  }
  DisjointEdits<TextEdit> edits;
  edits.Add({*std::move(edit)});
  return Applied(edits, text);
}

}  // namespace

EditedArguments EditArguments(const WrittenLaunch& launch, const Patch& patch, const Environment& env) {
  WordEdits plan = PlanEdits(launch, patch, env);
  EditedArguments out;
  out.unwritten = std::move(plan.unwritten);
  struct Words {
    size_t begin, end;
    std::vector<std::string> words;
  };
  DisjointEdits<Words> edits;
  for (WordEdit& edit : plan.edits) {
    if (!edits.Add({{edit.index, edit.index + edit.count, std::move(edit.words)}})) {
      out.unwritten.push_back(std::move(edit.assignment));
    }
  }
  edits.Apply(
      launch.args.size(),
      [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) out.args.push_back(launch.args[i].text);
      },
      [&](const Words& words) { out.args.insert(out.args.end(), words.words.begin(), words.words.end()); });
  return out;
}

EditedText EditArgumentFile(absl::string_view text, const WrittenLaunch& launch, const Patch& patch,
                            const Environment& env, bool shell) {
  WordEdits plan = PlanEdits(launch, patch, env);
  ArgumentFile file(text, launch.args, shell);
  for (const WordEdit& edit : plan.edits) {
    if (edit.words.empty()) file.Leaves(edit.index, edit.count);
  }
  EditedText out;
  DisjointEdits<TextEdit> edits;
  for (WordEdit& edit : plan.edits) {
    std::optional<std::vector<TextEdit>> places = file.Edit(edit);
    if (!places.has_value() || !edits.Add(*std::move(places))) out.unwritten.push_back(std::move(edit.assignment));
  }
  out.text = Applied(edits, text);
  for (const Assignment& assignment : plan.unwritten) {
    if (shell && !assignment.env_var.empty()) {
      const auto before = env.vars.find(assignment.env_var);
      out.text = WithVariable(out.text, assignment, before == env.vars.end() ? "" : before->second);
    } else {
      out.unwritten.push_back(assignment);
    }
  }
  return out;
}

}  // namespace flightplan
