// NCCL, loaded at run time: the worker is built without its headers and runs without it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "probe/status.h"

namespace flightplan::probe {

// The ranks of one process, one a device. Used by one thread.
class Nccl {
 public:
  // kUnsupported: it is not installed, or is no NCCL. `file` empty: where the loader finds it.
  static Status Load(const std::string& file, std::unique_ptr<Nccl>* loaded);
  ~Nccl();
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  int version() const { return version_; }  // 22803: 2.28.3
  // One communicator for each of `devices`, whose place is the rank.
  Status Open(const std::vector<int>& devices);

  // What stands between both is started at once, by every rank on its own stream (cudaStream_t).
  Status Begin();
  Status Send(int rank, int to, const void* from_memory, size_t bytes, void* stream);
  Status Receive(int rank, int from, void* to_memory, size_t bytes, void* stream);
  Status End();

 private:
  struct Functions;

  Nccl();
  Status Failed(const char* call, int error) const;

  std::unique_ptr<Functions> f_;
  int version_ = 0;
  std::vector<void*> communicators_;
};

// "2.28.3".
std::string NcclVersionText(int version);

// Names of NCCL's variables in this process's environment, in order: they change what it does.
std::vector<std::string> NcclSettings(char** environment);

}  // namespace flightplan::probe
