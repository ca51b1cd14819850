#include "probe/device/nccl.h"

#include <dlfcn.h>

#include <algorithm>

namespace flightplan::probe {
namespace {

constexpr int kUint8 = 1;      // ncclUint8 of nccl.h; checked in libraries_header_check.cc
constexpr int kOldest = 2700;  // 2.7, the first with ncclSend and ncclRecv

template <class Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

}  // namespace

struct Nccl::Functions {
  int (*version)(int*);
  int (*init_all)(void**, int, const int*);
  int (*destroy)(void*);
  const char* (*error_text)(int);
  int (*group_start)();
  int (*group_end)();
  int (*send)(const void*, size_t, int type, int peer, void* communicator, void* stream);
  int (*receive)(void*, size_t, int type, int peer, void* communicator, void* stream);

  bool FindAll(void* library) {
    return Find(library, "ncclGetVersion", &version) && Find(library, "ncclCommInitAll", &init_all) &&
           Find(library, "ncclCommDestroy", &destroy) && Find(library, "ncclGetErrorString", &error_text) &&
           Find(library, "ncclGroupStart", &group_start) && Find(library, "ncclGroupEnd", &group_end) &&
           Find(library, "ncclSend", &send) && Find(library, "ncclRecv", &receive);
  }
};

Nccl::Nccl() : f_(std::make_unique<Functions>()) {}

Nccl::~Nccl() {
  for (void* communicator : communicators_) f_->destroy(communicator);
}

Status Nccl::Load(const std::string& file, std::unique_ptr<Nccl>* loaded) {
  void* library = nullptr;
  std::vector<std::string> names = {"libnccl.so.2", "libnccl.so"};
  if (!file.empty()) names = {file};
  for (const std::string& name : names) {
    if (library == nullptr) library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) return Fail(Code::kUnsupported, "NCCL is not installed (" + names.front() + ")");
  std::unique_ptr<Nccl> nccl(new Nccl);
  if (!nccl->f_->FindAll(library) || nccl->f_->version(&nccl->version_) != 0) {
    return Fail(Code::kUnsupported, names.front() + " is no NCCL with sends and receives");
  }
  if (nccl->version_ < kOldest) {
    return Fail(Code::kUnsupported,
                "NCCL " + NcclVersionText(nccl->version_) + " is older than " + NcclVersionText(kOldest));
  }
  *loaded = std::move(nccl);
  return Ok();
}

Status Nccl::Open(const std::vector<int>& devices) {
  communicators_.assign(devices.size(), nullptr);
  const int error = f_->init_all(communicators_.data(), static_cast<int>(devices.size()), devices.data());
  if (error == 0) return Ok();
  communicators_.clear();
  return Failed("ncclCommInitAll", error);
}

Status Nccl::Begin() {
  const int error = f_->group_start();
  return error == 0 ? Ok() : Failed("ncclGroupStart", error);
}

Status Nccl::Send(int rank, int to, const void* from_memory, size_t bytes, void* stream) {
  void* communicator = communicators_[static_cast<size_t>(rank)];
  const int error = f_->send(from_memory, bytes, kUint8, to, communicator, stream);
  return error == 0 ? Ok() : Failed("ncclSend", error);
}

Status Nccl::Receive(int rank, int from, void* to_memory, size_t bytes, void* stream) {
  void* communicator = communicators_[static_cast<size_t>(rank)];
  const int error = f_->receive(to_memory, bytes, kUint8, from, communicator, stream);
  return error == 0 ? Ok() : Failed("ncclRecv", error);
}

Status Nccl::End() {
  const int error = f_->group_end();
  return error == 0 ? Ok() : Failed("ncclGroupEnd", error);
}

Status Nccl::Failed(const char* call, int error) const {
  return Fail(Code::kFailed,
              std::string(call) + " failed with " + std::to_string(error) + " (" + f_->error_text(error) + ")");
}

std::string NcclVersionText(int version) {
  // Up to 2.8 it was 2800 + patch; since then 20000 + 100 * minor + patch.
  const int major = version >= 10000 ? version / 10000 : version / 1000;
  const int rest = version >= 10000 ? version % 10000 : version % 1000;
  return std::to_string(major) + "." + std::to_string(rest / 100) + "." + std::to_string(rest % 100);
}

std::vector<std::string> NcclSettings(char** environment) {
  std::vector<std::string> names;
  for (char** at = environment; at != nullptr && *at != nullptr; ++at) {
    const std::string entry = *at;
    if (entry.starts_with("NCCL_")) names.push_back(entry.substr(0, entry.find('=')));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace flightplan::probe
