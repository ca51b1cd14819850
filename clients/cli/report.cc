#include "clients/cli/report.h"

#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "clients/cli/mask_secrets.h"
#include "clients/cli/observe/inflate.h"
#include "resolver/normalize/canonical_bytes.h"
#include "resolver/render/launch.h"

namespace flightplan::cli {
namespace {

// In base64, so that nothing in it can end the element that holds it (src/report/recorded.ts reads it).
std::string Held(const Report& report) {
  std::string held;
  const auto line = [&held](absl::string_view word, absl::string_view text) {
    absl::StrAppend(&held, word, " ", absl::Base64Escape(text), "\n");
  };
  line("command", report.command);
  line("line", report.line);
  for (const std::string& name : report.names) line("name", name);
  if (!report.diff.empty()) line("diff", MaskSecrets(report.diff));
  for (const RecordedCall& call : report.calls) {
    line(absl::StrCat("call ", call.rpc, " ", absl::Base64Escape(call.request)), call.answer);
  }
  return held;
}

// In the order of the keys of its maps, so that one answer is one file.
std::string MaskedBytes(const google::protobuf::Message& message) {
  const std::unique_ptr<google::protobuf::Message> masked(message.New());
  masked->CopyFrom(message);
  MaskSecretsIn(masked.get());
  return CanonicalBytes(*masked);
}

// The first one alone: what was put in may hold the same words.
void Put(absl::string_view place, absl::string_view text, std::string* page) {
  if (const size_t at = page->find(std::string(place)); at != std::string::npos) {
    page->replace(at, place.size(), text.data(), text.size());
  }
}

}  // namespace

std::string Unpacked(absl::string_view packed) {
  std::string text;
  Inflater inflater;
  inflater.Push(packed, [&text](absl::string_view part) { absl::StrAppend(&text, part); });
  return text;
}

std::string HtmlText(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

RecordedCall Recorded(absl::string_view rpc, const google::protobuf::Message& request,
                      const google::protobuf::Message& answer) {
  return {absl::StrCat("flightplan.v1.", rpc), MaskedBytes(request), MaskedBytes(answer)};
}

std::string LineOf(absl::string_view command, absl::Span<const std::string> args) {
  std::string line = absl::StrCat("flightplan ", command);
  absl::string_view before;
  for (const std::string& argument : args) {
    absl::StrAppend(&line, " ", ShellQuote(MaskSecretWord(before, argument)));
    before = argument;
  }
  return line;
}

// From the end, so that no place is looked for in what was put in before.
std::string RenderReport(const Report& report) {
  std::string page = Unpacked(PackedReportPage());
  Put("%%report%%", Held(report), &page);
  Put("%%text%%", HtmlText(MaskSecrets(report.text)), &page);
  Put("%%title%%", HtmlText(absl::StrCat(report.line, ", Flightplan")), &page);
  return page;
}

}  // namespace flightplan::cli
