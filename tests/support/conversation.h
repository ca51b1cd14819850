// For tests: what a peer answers to bytes on its input.
#pragma once

#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "clients/cli/rpc/framing.h"
#include "clients/cli/rpc/json_text.h"
#include "clients/cli/rpc/peer.h"
#include "resolver/base/json.h"

namespace flightplan::cli {

// A file without a name, at its beginning.
class Scratch {
 public:
  explicit Scratch(const std::string& text = "") : file_(std::tmpfile()) {
    EXPECT_EQ(std::fwrite(text.data(), 1, text.size(), file_), text.size());
    std::rewind(file_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::fclose(file_); }
  int descriptor() const { return fileno(file_); }
  void Rewind() { (void)lseek(descriptor(), 0, SEEK_SET); }

 private:
  std::FILE* const file_;
};

// Everything that was written to `scratch`, message by message.
inline std::vector<std::string> MessagesIn(Scratch& scratch, Framing framing) {
  scratch.Rewind();
  FrameReader reader(scratch.descriptor(), framing, RpcPeer::kMaxMessageBytes);
  std::vector<std::string> messages;
  std::string message;
  while (reader.Next(&message) == FrameEnd::kMessage) messages.push_back(message);
  return messages;
}

// Runs a peer over `input` until it ends. `serve` gives it its methods; what it makes lives as long as the peer.
inline std::vector<std::string> Converse(const std::string& input, const RpcOptions& options,
                                         const std::function<void(RpcPeer&)>& serve) {
  Scratch in(input), out;
  {
    RpcPeer peer(out.descriptor(), options);
    serve(peer);
    (void)peer.Run(in.descriptor());
  }
  return MessagesIn(out, options.framing);
}

inline rapidjson::Document Parsed(const std::string& json) {
  rapidjson::Document document;
  EXPECT_FALSE(ReadJson(json, JsonNumbers::kFinite, &document).has_value()) << json;
  return document;
}

// Of several answers that to `id` (JSON); null: there is none.
inline rapidjson::Document AnswerTo(const std::vector<std::string>& messages, const std::string& id) {
  for (const std::string& message : messages) {
    rapidjson::Document document = Parsed(message);
    const rapidjson::Value* found = JsonMember(document, "id");
    if (found != nullptr && JsonOf(*found) == id) return document;
  }
  return {};
}

inline int CodeOf(const rapidjson::Document& answer) {
  const rapidjson::Value* error = JsonObjectMember(answer, "error");
  return error == nullptr ? 0 : (*error)["code"].GetInt();
}

}  // namespace flightplan::cli
