#include "clients/cli/fingerprint.h"

#include <glob.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "service/local/input_file.h"

namespace flightplan::cli {
namespace {

constexpr size_t kMaxRead = size_t{64} * 1024;

// Distributions that a version rule may ask for, and the fact each one is. The name may go on: nvidia-nccl-cu12.
struct Package {
  const char* prefix;  // normalized: lower case, '-' for '_' and '.'
  const char* fact;
};
constexpr Package kPackages[] = {{"transformer-engine", "te"},
                                 {"torch", "torch"},
                                 {"nvidia-nccl-cu", "nccl"},
                                 {"nvidia-cuda-runtime-cu", "cuda"},
                                 {"nvidia-cudnn-cu", "cudnn"},
                                 {"nvidia-nvshmem-cu", "package.nvshmem"},
                                 {"deep-ep", "package.deep_ep"},
                                 {"triton", "package.triton"},
                                 {"megatron-core", "megatron-core"},
                                 {"megatron-bridge", "megatron-bridge"},
                                 {"loongforge", "loongforge"},
                                 {"flash-attn", "package.flash_attn"},
                                 {"nvidia-modelopt", "package.modelopt"},
                                 {"mamba-ssm", "package.mamba_ssm"}};

constexpr const char* kSites[] = {"/usr/local/lib/python3*/dist-packages",
                                  "/usr/local/lib/python3*/site-packages",
                                  "/usr/lib/python3*/dist-packages",
                                  "/usr/lib/python3*/site-packages",
                                  "/opt/*/lib/python3*/site-packages",
                                  "/opt/*/.venv/lib/python3*/site-packages",
                                  "/workspace/.venv/lib/python3*/site-packages"};
constexpr const char* kCheckouts[] = {"/opt/*", "/workspace/*", "/workspace"};
constexpr const char* kLibraries[] = {"/usr/lib/*-linux-gnu", "/usr/local/lib", "/usr/local/cuda*/lib64",
                                      "/usr/local/cuda*/targets/*/lib", "/opt/*/lib"};

std::string ReadStart(const std::string& path) {
  absl::StatusOr<service::InputFile> file = service::InputFile::Open(path);
  if (!file.ok()) return "";
  std::string text;
  char piece[4096];
  while (text.size() < kMaxRead) {
    const absl::StatusOr<size_t> count = file->Read(piece, sizeof(piece));
    if (!count.ok() || *count == 0) break;
    text.append(piece, *count);
  }
  return text;
}

std::vector<std::string> Glob(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

std::string BaseName(absl::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

// "Version: 2.9.0" -> "2.9.0"; only in the header, which ends at the first empty line.
std::string Field(absl::string_view text, absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (absl::ConsumePrefix(&line, name)) return std::string(absl::StripAsciiWhitespace(line));
  }
  return "";
}

// The text behind `key` up to the next quote: enough for the flat JSON files read here.
std::string JsonText(absl::string_view text, absl::string_view key) {
  const size_t at = text.find(absl::StrCat("\"", key, "\""));
  if (at == absl::string_view::npos) return "";
  const size_t open = text.find('"', text.find(':', at));
  const size_t close = open == absl::string_view::npos ? open : text.find('"', open + 1);
  return close == absl::string_view::npos ? "" : std::string(text.substr(open + 1, close - open - 1));
}

// The version that a name such as libnccl.so.2.27.3 carries; empty without at least two parts.
std::string LibraryVersion(const std::string& path) {
  const size_t at = path.rfind(".so.");
  const std::string version = at == std::string::npos ? "" : path.substr(at + 4);
  return absl::StrContains(version, ".") ? version : "";
}

class Reader {
 public:
  Reader(const FingerprintOptions& options, Fingerprint* out) : options_(options), out_(out) {
    root_ = options.root;
    while (!root_.empty() && root_.back() == '/') root_.pop_back();
  }

  void Run() {
    std::vector<std::string> sites = options_.sites;
    for (const char* pattern : kSites) {
      for (std::string& path : Glob(root_ + pattern)) sites.push_back(std::move(path));
    }
    for (const std::string& site : sites) Site(site);
    Cuda();
    Library("nccl", "libnccl.so.2.*");
    Library("package.nvshmem", "libnvshmem_host.so.*");
    Driver();
    Gpus();
    Nics();
    std::vector<std::string> checkouts = options_.checkouts;
    for (const char* pattern : kCheckouts) {
      for (std::string& path : Glob(root_ + pattern)) checkouts.push_back(std::move(path));
    }
    for (const std::string& folder : checkouts) Checkout(folder);
    Missing(sites.empty());
  }

 private:
  // The first word on a fact stands; sources come most trusted first.
  void Add(const std::string& name, const std::string& value, const std::string& source) {
    if (!value.empty() && out_->Find(name) == nullptr) out_->facts.push_back({name, value, source});
  }

  void Site(const std::string& site) {
    for (const char* kind : {"/*.dist-info", "/*.egg-info"}) {
      for (const std::string& path : Glob(site + kind)) Distribution(path);
    }
    // DeepEP's distribution carries one dispatcher or two; their extension modules say which.
    for (const auto& [module, backend] : {std::pair("deep_ep_cpp", "deepep"), std::pair("hybrid_ep_cpp", "hybridep")}) {
      for (const char* folder : {"/", "/deep_ep/", "/*.egg/"}) {
        for (const std::string& path : Glob(absl::StrCat(site, folder, module, "*.so"))) {
          Add(absl::StrCat("dispatcher.", backend), "installed", path);
        }
      }
    }
  }

  void Distribution(const std::string& path) {
    const std::string file = BaseName(path);
    const std::string name =
        absl::StrReplaceAll(absl::AsciiStrToLower(file.substr(0, file.find('-'))), {{"_", "-"}, {".", "-"}});
    for (const Package& package : kPackages) {
      const bool goes_on =
          absl::EndsWith(package.prefix, "-cu") || absl::string_view(package.prefix) == "transformer-engine";
      if (name != package.prefix && !(goes_on && absl::StartsWith(name, package.prefix))) continue;
      // transformer_engine_torch is built against the version, transformer_engine_cu12 is it.
      std::string version = Field(ReadStart(path + "/METADATA"), "Version:");
      if (version.empty()) version = Field(ReadStart(path + "/PKG-INFO"), "Version:");
      Add(package.fact, version, path);
      Add(absl::StrCat(package.fact, ".commit"), JsonText(ReadStart(path + "/direct_url.json"), "commit_id"),
          path + "/direct_url.json");
    }
  }

  void Cuda() {
    for (const std::string& path : Glob(root_ + "/usr/local/cuda*/version.json")) {
      const std::string text = ReadStart(path);
      const size_t at = text.find("\"cuda\"");
      if (at != std::string::npos) Add("cuda", JsonText(absl::string_view(text).substr(at + 6), "version"), path);
    }
    Library("cuda", "libcudart.so.*");
    // torch's own build: 2.9.0+cu128 is CUDA 12.8.
    const Fact* torch = out_->Find("torch");
    const size_t at = torch == nullptr ? std::string::npos : torch->value.find("+cu");
    int number = 0;
    if (at != std::string::npos && absl::SimpleAtoi(torch->value.substr(at + 3), &number) && number >= 100) {
      Add("cuda", absl::StrCat(number / 10, ".", number % 10), std::string(torch->source));
    }
  }

  void Library(const std::string& fact, const std::string& name) {
    for (const char* folder : kLibraries) {
      for (const std::string& path : Glob(absl::StrCat(root_, folder, "/", name)))
        Add(fact, LibraryVersion(path), path);
    }
  }

  void Driver() {
    const std::string path = root_ + "/proc/driver/nvidia/version";
    const std::string line = Field(ReadStart(path), "NVRM version:");
    for (absl::string_view word : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
      const bool version = absl::ascii_isdigit(static_cast<unsigned char>(word[0])) && absl::StrContains(word, ".");
      if (version) Add("driver", std::string(word), path);
    }
  }

  void Gpus() {
    for (const std::string& path : Glob(root_ + "/proc/driver/nvidia/gpus/*/information")) {
      const std::string model = Field(ReadStart(path), "Model:");
      if (!model.empty()) out_->facts.push_back({"gpu", model, path});
    }
  }

  void Nics() {
    for (const std::string& path : Glob(root_ + "/sys/class/infiniband/*")) {
      const auto line = [&path](const char* file) {
        return std::string(absl::StripAsciiWhitespace(ReadStart(absl::StrCat(path, "/ports/1/", file))));
      };
      const std::string name = BaseName(path), link = line("link_layer"), rate = line("rate");
      const bool efa = absl::StartsWith(name, "efa") || absl::StartsWith(name, "rdmap");
      const std::string transport = efa                    ? "efa"
                                    : link == "InfiniBand" ? "infiniband"
                                    : link == "Ethernet"   ? "roce"
                                                           : "";
      out_->facts.push_back({"nic", absl::StrCat(name, rate.empty() ? "" : ", ", rate), path});
      Add("transport", transport, path + "/ports/1/link_layer");
    }
  }

  void Checkout(const std::string& folder) {
    const std::string core = ReadStart(folder + "/megatron/core/package_info.py");
    if (!core.empty()) {
      const auto part = [&core](const char* name) { return Field(core, absl::StrCat(name, " =")); };
      if (!part("MAJOR").empty()) {
        Add("megatron-core", absl::StrCat(part("MAJOR"), ".", part("MINOR"), ".", part("PATCH")),
            folder + "/megatron/core/package_info.py");
      }
      Add("megatron-core.commit", GitHead(folder), folder + "/.git/HEAD");
    }
    const std::string bridge = ReadStart(folder + "/src/megatron/bridge/package_info.py");
    if (bridge.empty()) return;
    const auto part = [&bridge](const char* name) { return Field(bridge, absl::StrCat(name, " =")); };
    if (!part("MAJOR").empty()) {
      Add("megatron-bridge", absl::StrCat(part("MAJOR"), ".", part("MINOR"), ".", part("PATCH")),
          folder + "/src/megatron/bridge/package_info.py");
    }
    Add("megatron-bridge.commit", GitHead(folder), folder + "/.git/HEAD");
  }

  static std::string GitHead(const std::string& folder) {
    std::string head(absl::StripAsciiWhitespace(ReadStart(folder + "/.git/HEAD")));
    absl::string_view ref = head;
    if (!absl::ConsumePrefix(&ref, "ref: ")) return head;
    std::string loose(absl::StripAsciiWhitespace(ReadStart(absl::StrCat(folder, "/.git/", ref))));
    if (!loose.empty()) return loose;
    for (absl::string_view line : absl::StrSplit(ReadStart(folder + "/.git/packed-refs"), '\n')) {
      if (absl::EndsWith(line, absl::StrCat(" ", ref))) return std::string(line.substr(0, line.find(' ')));
    }
    return "";
  }

  void Missing(bool no_site) {
    const auto need = [this](const char* fact, const char* where) {
      if (out_->Find(fact) == nullptr) out_->missing.push_back(absl::StrCat(fact, ": ", where));
    };
    if (no_site) out_->missing.push_back("Python packages: no folder of them found; name one with --site");
    need("te", "no transformer_engine metadata");
    need("torch", "no torch metadata");
    need("cuda", "no version.json, nvidia-cuda-runtime package or libcudart.so");
    need("nccl", "no nvidia-nccl package and no libnccl.so; torch may carry its own");
    need("package.deep_ep", "no deep_ep metadata");
    need("package.nvshmem", "no nvidia-nvshmem package and no libnvshmem_host.so");
    need("package.triton", "no triton metadata");
    need("driver", "no /proc/driver/nvidia/version; not on a GPU node, or not mapped into the container");
    need("gpu", "no /proc/driver/nvidia/gpus");
    need("nic", "no /sys/class/infiniband");
    if (out_->Find("megatron-core") == nullptr && out_->Find("megatron-bridge") == nullptr &&
        out_->Find("loongforge") == nullptr) {
      out_->missing.push_back("framework: no metadata and no checkout; name one with --checkout");
    }
  }

  const FingerprintOptions& options_;
  std::string root_;
  Fingerprint* out_;
};

}  // namespace

const Fact* Fingerprint::Find(const std::string& name) const {
  for (const Fact& fact : facts) {
    if (fact.name == name) return &fact;
  }
  return nullptr;
}

size_t Fingerprint::Count(const std::string& name) const {
  return static_cast<size_t>(
      std::count_if(facts.begin(), facts.end(), [&name](const Fact& fact) { return fact.name == name; }));
}

Fingerprint TakeFingerprint(const FingerprintOptions& options) {
  Fingerprint out;
  Reader(options, &out).Run();
  std::stable_sort(out.facts.begin(), out.facts.end(), [](const Fact& a, const Fact& b) { return a.name < b.name; });
  return out;
}

}  // namespace flightplan::cli
