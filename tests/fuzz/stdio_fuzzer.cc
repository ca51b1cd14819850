// What comes over standard input of `flightplan mcp` and `flightplan lsp`: frames, messages, places in a text. The
// first byte chooses the framing.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "clients/cli/lsp/source_link.h"
#include "clients/cli/lsp/spot.h"
#include "clients/cli/lsp/text_lines.h"
#include "clients/cli/rpc/json_text.h"
#include "clients/cli/rpc/peer.h"
#include "tests/fuzz/feedback.h"

namespace flightplan::fuzz {
namespace {

constexpr size_t kPlaces = 64;  // of a text

void Check(bool holds) {
  if (!holds) std::abort();
}

void Converse(cli::Framing framing, absl::string_view bytes) {
  std::FILE* in = std::tmpfile();
  std::FILE* out = std::tmpfile();
  Check(in != nullptr && out != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), in) == bytes.size());
  std::rewind(in);
  {
    cli::RpcPeer peer(fileno(out), {.framing = framing, .workers = 0});
    peer.Serve({{"ping", false, [](const cli::RpcCall&) -> cli::RpcResult { return std::string("{}"); }}});
    Met(peer.Run(fileno(in)) ? "whole" : "broken");
  }
  // Whatever was asked, what is answered can be read.
  (void)lseek(fileno(out), 0, SEEK_SET);
  cli::FrameReader answers(fileno(out), framing, cli::RpcPeer::kMaxMessageBytes);
  std::string answer;
  cli::FrameEnd end;
  while ((end = answers.Next(&answer)) == cli::FrameEnd::kMessage) Met(answer.substr(0, 64));
  Check(end == cli::FrameEnd::kEnd);
  (void)std::fclose(in);
  (void)std::fclose(out);
}

void LookAround(absl::string_view text) {
  const cli::TextLines lines(text);
  const size_t step = text.size() / kPlaces + 1;
  for (size_t offset = 0; offset <= text.size(); offset += step) {
    Check(lines.OffsetOf(lines.PositionOf(offset)) <= text.size());
    for (const cli::LaunchForm form : {cli::LaunchForm::kWords, cli::LaunchForm::kYaml}) {
      const cli::Spot spot = cli::SpotAt(text, offset, form);
      Check(spot.begin <= spot.end && spot.end <= text.size());
      Check(cli::MarkedEnd(text, offset, form) <= text.size());
    }
  }
  Met(cli::SourceLink(text).empty() ? "no link" : "link");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  Converse(data[0] % 2 == 0 ? cli::Framing::kLines : cli::Framing::kHeaders, text);
  LookAround(text);
  return 0;
}

}  // namespace flightplan::fuzz
