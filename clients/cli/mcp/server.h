// A server of the Model Context Protocol: the terminal's commands as tools, the rule book and the knob table as
// resources. It reads no files and starts nothing; all it answers with is the backend.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "clients/cli/backend.h"
#include "clients/cli/mcp/tools.h"
#include "clients/cli/rpc/peer.h"

namespace flightplan::cli {

// The revisions of the protocol whose handshake it speaks, oldest first.
inline constexpr absl::string_view kMcpVersions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};
// Of a tool's text; a page is about 6 kB, and what is longer is cut, which it says.
inline constexpr size_t kMaxToolText = size_t{24} << 10;

class McpServer {
 public:
  // `backend` answers every call, from several threads.
  explicit McpServer(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}

  // What the peer serves; both outlive its run.
  std::vector<RpcMethod> Methods(RpcPeer* peer);

 private:
  RpcResult Initialize(const RpcCall& call);
  RpcResult ListTools() const;
  RpcResult CallTool(const RpcCall& call, RpcPeer* peer);
  RpcResult ListResources(const RpcCall& call);
  RpcResult ReadResource(const RpcCall& call);
  // Runs a command without a process, with nothing of this machine but the backend.
  struct Ran {
    int exit = 0;
    std::string text;
    std::vector<std::string> answers;  // structured
  };
  Ran RunTool(const Tool& tool, const ToolCommandLine& line, const RpcCall& call, RpcPeer* peer);
  RpcResult Entries();  // fills entries_

  const std::shared_ptr<Backend> backend_;
  std::atomic<bool> structured_{true};  // the client's revision has structuredContent
  std::vector<std::string> entries_;    // resources as JSON, once they were asked for
};

}  // namespace flightplan::cli
