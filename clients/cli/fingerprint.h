// What is installed here, from files alone: no Python is imported, no GPU is touched. Run inside the container of a job
// or on one of its nodes.
#pragma once

#include <string>
#include <vector>

namespace flightplan::cli {

// One fact, and the file that says it.
struct Fact {
  std::string name;  // "te", "torch", "driver", "package.deep_ep", "gpu", "megatron-core.commit" ...
  std::string value;
  std::string source;
};

struct Fingerprint {
  std::vector<Fact> facts;           // by name; gpus and nics one entry each
  std::vector<std::string> missing;  // "nccl: no nvidia-nccl package and no libnccl.so in ..."

  const Fact* Find(const std::string& name) const;
  size_t Count(const std::string& name) const;
};

struct FingerprintOptions {
  std::string root = "/";              // every path is taken below it
  std::vector<std::string> sites;      // folders of Python packages, searched before the usual ones
  std::vector<std::string> checkouts;  // source checkouts of a framework, searched before the usual ones
};

// Files are read up to 64 KiB each; what cannot be read counts as not there.
Fingerprint TakeFingerprint(const FingerprintOptions& options);

}  // namespace flightplan::cli
