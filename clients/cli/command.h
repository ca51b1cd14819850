// What a subcommand is, and what it may touch.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "clients/cli/backend.h"
#include "clients/cli/flags.h"
#include "clients/cli/terminal.h"

namespace google::protobuf {
class Message;
}

namespace flightplan::cli {

// Exit codes, the same for every command. Documented in README.md, `flightplan help` and the man page.
enum Exit : int {
  kExitOk = 0,
  kExitFindings = 1,     // findings of level error: the launch would be refused or would fail
  kExitMisuse = 2,       // the command line, or a name, file or address on it, makes no sense or cannot be had
  kExitUnreachable = 3,  // the server did not answer
  kExitInternal = 4,     // our own bug, or an answer that cannot be read
  kExitOutput = 5,       // what was asked for is known, but could not be written: a full disk, a closed descriptor
};
struct ExitMeaning {
  Exit code;
  absl::string_view meaning;
};
inline constexpr ExitMeaning kExitMeanings[] = {{kExitOk, "fine"},
                                                {kExitFindings, "findings of level error"},
                                                {kExitMisuse, "the command line makes no sense"},
                                                {kExitUnreachable, "the server did not answer"},
                                                {kExitInternal, "a fault of flightplan itself"},
                                                {kExitOutput, "the output could not be written"}};

// The text of a file that a flag or an argument names.
using FileReader = std::function<absl::StatusOr<std::string>(const std::string& path)>;

// What a command meets in place of this machine while another program asks through it (clients/cli/mcp). Unset members:
// the machine itself.
struct Host {
  std::shared_ptr<Backend> backend;  // answers, whatever the flags say
  FileReader read;                   // instead of files
  // Hears how far a search is; false ends it.
  std::function<bool(const v1::PlanProgress&)> progress;
  // Sees each answer of which a page is printed.
  std::function<void(const google::protobuf::Message&)> answer;
};

// Everything a command reads and writes, so that tests run commands without a process.
struct Context {
  Terminal terminal;
  std::string out;  // standard output
  std::string err;  // standard error
  // Where set, a command leaves its table there and does nothing else. See TableOf.
  CommandLine* table = nullptr;
  const Host* host = nullptr;  // outlives the command
};

using Arguments = absl::Span<const std::string>;

struct Command {
  absl::string_view name;
  absl::string_view summary;  // its line in `flightplan help`
  int (*run)(Arguments args, Context& context);
};

absl::Span<const Command> Commands();
const Command* FindCommand(absl::string_view name);
// The flags and the help of a command as data, for completion and the man page. Its setters are empty.
CommandLine TableOf(const Command& command);

// The whole program but for the process: `args` without the program's name.
int RunCommandLine(Arguments args, Context& context);

// ---- for commands

// Parses, and answers --help and TableOf. Empty: go on with *parsed; else the exit code.
std::optional<int> ParseOrExit(const CommandLine& command, Arguments args, Context& context, ParsedArguments* parsed);

// Says what is wrong with the command line, with the usage line; kExitMisuse.
int Misuse(const CommandLine& command, absl::string_view message, Context& context);
// Says why the backend gave no answer, its field paths as our flags; the exit code by the status.
int Failed(const CommandLine& command, const absl::Status& status, Context& context);
// Says why a file of the user's could not be written; kExitOutput.
int NotWritten(const CommandLine& command, const absl::Status& status, Context& context);

// Where answers come from: flags that every asking command has.
struct BackendOptions {
  std::string server;       // HOST:PORT or unix:PATH; empty: in process
  std::string catalog_dir;  // overlay; in process only
};
FlagGroup BackendFlags(BackendOptions* options);
absl::StatusOr<std::shared_ptr<Backend>> MakeBackend(const BackendOptions& options, const Context& context);

// A text file of the user in UTF-8, or standard input for "-". At most kMaxFileBytes; errors name the file.
inline constexpr size_t kMaxFileBytes = size_t{1} << 20;
absl::StatusOr<std::string> ReadInput(const std::string& path);
// The same by the host, where there is one.
absl::StatusOr<std::string> ReadInput(const std::string& path, const Context& context);
// The same for who reads later; unset: ReadInput.
FileReader ReaderOf(const Context& context);
// Shows the host an answer before its page is written.
void Answered(const google::protobuf::Message& answer, const Context& context);

}  // namespace flightplan::cli
