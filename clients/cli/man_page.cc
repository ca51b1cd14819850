#include "clients/cli/man_page.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "clients/cli/backend.h"
#include "clients/cli/command.h"
#include "clients/cli/text.h"

namespace flightplan::cli {
namespace {

struct Entry {
  absl::string_view name;
  absl::string_view text;
};
// Variables that this program looks at itself. Those of `serve` are its settings.
constexpr Entry kVariables[] = {
    {"FLIGHTPLAN_PROFILE_DIR", "where probe keeps profiles and resolve looks for them; see FILES"},
    {"FLIGHTPLAN_TOKEN", "with --server: sent as a bearer token with every call"},
    {"FLIGHTPLAN_ALLOW_PLAINTEXT_TOKEN",
     "1: the token goes to another machine without TLS too, where anyone between can read it"},
    {"FLIGHTPLAN_CA_FILE", "with --server: PEM certificates of the authorities to trust; unset: no TLS"},
    {"FLIGHTPLAN_CERT_FILE", "with FLIGHTPLAN_CA_FILE: PEM certificate chain of this client"},
    {"FLIGHTPLAN_KEY_FILE", "with FLIGHTPLAN_CERT_FILE: its PEM private key"},
    {"COLUMNS", "width of pages, where it is not that of the terminal"},
    {"NO_COLOR", "not empty: no colour"},
    {"TERM", "dumb: no colour"},
    {"LC_ALL, LC_CTYPE, LANG", "whether pages may be UTF-8; the first that is set counts"},
    {"XDG_DATA_HOME, HOME", "where FILES are"},
    {"PATH", "where flightplan-probe is looked for, after the folder of flightplan itself"}};
constexpr Entry kFiles[] = {
    {"~/.local/share/flightplan/profiles",
     "profiles of probe, one JSON file each; below XDG_DATA_HOME where it is set, or "
     "FLIGHTPLAN_PROFILE_DIR"},
    {"/var/lib/flightplan/evidence.db", "the evidence store of serve, where that folder exists"}};

// Text for roff: nothing in it is a request or an escape, a hyphen is a minus that can be searched for and copied.
std::string Text(absl::string_view text) {
  std::string out = absl::StrReplaceAll(ToAscii(text), {{"\\", "\\e"}, {"-", "\\-"}});
  return absl::StartsWith(out, ".") || absl::StartsWith(out, "'") ? absl::StrCat("\\&", out) : out;
}

std::string Bold(absl::string_view text) { return absl::StrCat("\\fB", Text(text), "\\fR"); }

std::string Sentence(absl::string_view text) {
  std::string out = Text(text);
  out[0] = absl::ascii_toupper(static_cast<unsigned char>(out[0]));
  return absl::StrCat(out, absl::EndsWith(out, ".") ? "" : ".", "\n");
}

void AppendEntry(absl::string_view head, absl::string_view text, std::string* out) {
  absl::StrAppend(out, ".TP\n", head, "\n", Text(text), "\n");
}

// Help, and the known words unless the help names them.
std::string FlagText(const Flag& flag) {
  const std::vector<std::string>& words = ValuesOf(flag).words;
  const absl::string_view shown = flag.help.empty() ? flag.value_name : flag.help;
  std::vector<std::string> unsaid;
  for (const std::string& word : words) {
    if (!absl::StrContains(shown, word)) unsaid.push_back(word);
  }
  std::vector<std::string> parts;
  if (!flag.help.empty()) parts.emplace_back(flag.help);
  if (!unsaid.empty()) parts.push_back(absl::StrCat("one of ", absl::StrJoin(words, ", ")));
  return absl::StrJoin(parts, "; ");
}

void AppendCommand(const CommandPage& page, std::string* out) {
  const CommandLine& command = page.table;
  absl::StrAppend(out, ".SS flightplan ", command.name, "\n", Sentence(command.summary));
  if (!command.usage.empty()) absl::StrAppend(out, ".PP\n", Bold("usage:"), " ", Text(command.usage), "\n");
  for (const FlagGroup& group : command.groups) {
    for (const Flag& flag : group.flags) {
      const std::string value = flag.value_name.empty() ? "" : absl::StrCat(" \\fI", Text(flag.value_name), "\\fR");
      absl::StrAppend(out, ".TP\n", Bold(flag.name), value, "\n", Text(FlagText(flag)), "\n");
    }
  }
  if (command.example.empty()) return;
  absl::StrAppend(out, ".PP\nExamples:\n.PP\n.nf\n.RS\n");
  for (absl::string_view line : absl::StrSplit(command.example, '\n')) absl::StrAppend(out, Text(line), "\n");
  absl::StrAppend(out, ".RE\n.fi\n");
}

}  // namespace

std::string ManPage(const std::vector<CommandPage>& pages, absl::string_view version) {
  std::string out = absl::StrCat(
      ".TH FLIGHTPLAN 1 \"\" \"flightplan ", Text(version), "\" \"User Commands\"\n",
      ".SH NAME\nflightplan \\- the launch that the training stack will accept, before the queue\n", ".SH SYNOPSIS\n",
      Bold("flightplan"), " \\fICOMMAND\\fR [\\fIFLAGS\\fR]\n", ".SH DESCRIPTION\n",
      Text("Judges and plans launches of MoE training jobs for Megatron-LM, Megatron-Bridge and LoongForge: from a "
           "model, "
           "GPUs and a parallel layout to one complete configuration that the stack accepts, with the reason for every "
           "value, the memory it needs and its step time; from a finished launch to what the stack will say of it, "
           "with a "
           "fix for every fault."),
      "\n.PP\n",
      Text("A flag is written --name VALUE or --name=VALUE. Of a flag given twice the last one holds, unless its help "
           "says "
           "that it may be repeated. --help prints the help of a command; - as a file is standard input."),
      "\n.SH COMMANDS\n");
  for (const CommandPage& page : pages) AppendEntry(Bold(page.table.name), page.summary, &out);
  out += ".SH FLAGS\n";
  for (const CommandPage& page : pages) AppendCommand(page, &out);
  out += ".SH EXIT STATUS\n";
  for (const ExitMeaning& exit : kExitMeanings) AppendEntry(absl::StrCat(exit.code), exit.meaning, &out);
  AppendEntry("141", "in a shell: nobody read the output any more (| head), so SIGPIPE ended the program", &out);
  out += ".SH ENVIRONMENT\n";
  for (const Entry& entry : kVariables) AppendEntry(Bold(entry.name), entry.text, &out);
  AppendEntry("\\fBFLIGHTPLAN_\\fISETTING\\fR",
              "of serve: a setting by its name in capitals, such as FLIGHTPLAN_LISTEN", &out);
  out += ".SH FILES\n";
  for (const Entry& entry : kFiles) AppendEntry(absl::StrCat("\\fI", Text(entry.name), "\\fR"), entry.text, &out);
  return out;
}

}  // namespace flightplan::cli
