// A server of the Language Server Protocol for launches: what `validate`, `fix` and `explain` say, while one types.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "clients/cli/backend.h"
#include "clients/cli/lsp/hover.h"
#include "clients/cli/lsp/live_judge.h"
#include "clients/cli/lsp/vocabulary.h"
#include "clients/cli/rpc/peer.h"

namespace flightplan::cli {

class LspServer {
 public:
  explicit LspServer(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}

  // What the peer serves. From here to Finish it may be written to at any time.
  std::vector<RpcMethod> Methods(RpcPeer* peer);
  // After the peer has read all: judges what is left, unless the client said goodbye, and writes nothing any more.
  void Finish();
  // The client said exit without shutdown, which LSP wants to see in the exit code.
  bool left_early() const { return left_ && !shut_down_; }

 private:
  using Handler = RpcResult (LspServer::*)(const RpcCall& call);
  RpcResult Initialize(const RpcCall& call);
  RpcResult Shutdown(const RpcCall& call);
  RpcResult Open(const RpcCall& call);
  RpcResult Change(const RpcCall& call);
  RpcResult Close(const RpcCall& call);
  RpcResult Configure(const RpcCall& call);
  RpcResult Hover(const RpcCall& call);
  RpcResult Complete(const RpcCall& call);
  RpcResult Act(const RpcCall& call);
  void UseSettings(const rapidjson::Value& settings);
  void Say(absl::string_view message);
  // Of the stack that the document was last found to be for, or the one that is set.
  std::shared_ptr<const Vocabulary> VocabularyOf(const Judgement* judgement);
  const v1::ListRulesResponse& Rules();

  const std::shared_ptr<Backend> backend_;
  RpcPeer* peer_ = nullptr;
  std::unique_ptr<LiveJudge> judge_;
  std::atomic<bool> initialized_{false};
  std::atomic<bool> shut_down_{false};
  std::atomic<bool> left_{false};
  std::mutex mutex_;  // of all below
  std::map<std::string, std::shared_ptr<const Vocabulary>> vocabularies_;
  v1::ListRulesResponse rules_;
};

}  // namespace flightplan::cli
