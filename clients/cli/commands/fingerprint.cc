#include "clients/cli/fingerprint.h"

#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/output.h"
#include "clients/cli/paging.h"
#include "clients/cli/table.h"
#include "flightplan/v1/catalog_service.pb.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::cli {
namespace {

std::string ValueOf(const Fingerprint& print, const char* name) {
  const Fact* fact = print.Find(name);
  return fact == nullptr ? "" : fact->value;
}

// "megatron-lm@0.16" of Megatron-Core 0.16.1; Bridge and LoongForge go before the core they bring along.
void FillTarget(const Fingerprint& print, v1::TargetStack* target) {
  const std::pair<const char*, const char*> frameworks[] = {
      {"megatron-bridge", "megatron-bridge"}, {"loongforge", "loongforge"}, {"megatron-core", "megatron-lm"}};
  for (const auto& [fact, framework] : frameworks) {
    const std::string version = ValueOf(print, fact);
    if (version.empty()) continue;
    target->set_framework(framework);
    const std::vector<std::string> parts = absl::StrSplit(version, '.');
    if (parts.size() > 1) target->set_version(absl::StrCat(parts[0], ".", parts[1]));
    return;
  }
}

// The catalogue's system of these GPUs, by what the driver calls them; empty when there is none or more than one.
absl::Status FillHardware(const Fingerprint& print, Backend& backend, v1::Hardware* hardware) {
  const std::string device = ValueOf(print, "gpu");
  if (device.empty()) return absl::OkStatus();
  v1::ListGpusResponse gpus;
  if (absl::Status status = ListAll(backend, &Backend::ListGpus, v1::ListGpusRequest(), &gpus); !status.ok()) {
    return status;
  }
  int known = 0;
  for (const v1::GpuSystem& gpu : gpus.gpus()) {
    if (gpu.device_name() != device) continue;
    hardware->set_gpu(++known == 1 ? gpu.name() : "");
  }
  hardware->mutable_fabric()->set_gpus_per_node_count(static_cast<int32_t>(print.Count("gpu")));
  const std::string transport = ValueOf(print, "transport");
  if (!transport.empty()) hardware->mutable_fabric()->set_transport(transport);
  return absl::OkStatus();
}

void FillSoftware(const Fingerprint& print, v1::SoftwareStack* software) {
  for (const Fact& fact : print.facts) {
    if (fact.name == "te") software->set_te_version(fact.value);
    if (fact.name == "torch") software->set_torch_version(fact.value);
    if (fact.name == "cuda") software->set_cuda_version(fact.value);
    if (fact.name == "nccl") software->set_nccl_version(fact.value);
    if (fact.name == "cudnn") software->set_cudnn_version(fact.value);
    if (fact.name == "driver") software->set_driver_version(fact.value);
    // Known only where one was found: an image may hold them where we did not look.
    if (absl::StartsWith(fact.name, "dispatcher.")) software->mutable_dispatchers()->add_backends(fact.name.substr(11));
    if (absl::StartsWith(fact.name, "package.") && !absl::EndsWith(fact.name, ".commit")) {
      (*software->mutable_packages())[fact.name.substr(8)] = fact.value;
    }
  }
}

std::string FlagsText(const v1::ValidateConfigRequest& form) {
  std::vector<std::string> flags;
  const auto add = [&flags](absl::string_view flag, const std::string& value) {
    if (!value.empty()) flags.push_back(absl::StrCat(flag, " ", value));
  };
  const v1::TargetStack& target = form.target();
  if (!target.framework().empty()) {
    add("--target", target.framework() + (target.version().empty() ? "" : "@" + target.version()));
  }
  add("--gpu", form.hardware().gpu());
  if (form.hardware().fabric().has_gpus_per_node_count()) {
    add("--gpus-per-node", absl::StrCat(form.hardware().fabric().gpus_per_node_count()));
  }
  add("--transport", form.hardware().fabric().transport());
  add("--te", form.software().te_version());
  add("--torch", form.software().torch_version());
  add("--cuda", form.software().cuda_version());
  add("--nccl", form.software().nccl_version());
  add("--driver", form.software().driver_version());
  add("--capability", absl::StrJoin(form.software().dispatchers().backends(), ","));
  const std::map<std::string, std::string> packages(form.software().packages().begin(),
                                                    form.software().packages().end());
  for (const auto& [name, version] : packages) add("--package", absl::StrCat(name, "=", version));
  return absl::StrCat(absl::StrJoin(flags, " "), "\n");
}

std::string TableText(const Fingerprint& print, const Terminal& terminal) {
  Table table({{}, {.min_width = 16, .shrink = true}, {.min_width = 20, .shrink = true}}, 0);
  for (const Fact& fact : print.facts) table.Row({Cell(fact.name), Cell(fact.value), Cell(fact.source, Style::kDim)});
  std::string out = table.Render(terminal);
  if (!print.missing.empty()) absl::StrAppend(&out, "\n", terminal.Paint("not found", Style::kBold), "\n");
  for (const std::string& what : print.missing) absl::StrAppend(&out, "  ", terminal.Shown(what), "\n");
  return out;
}

}  // namespace

int RunFingerprint(Arguments args, Context& context) {
  FingerprintOptions options;
  std::string format = "text";
  BackendOptions where;
  const CommandLine command{
      .name = "fingerprint",
      .usage = "flightplan fingerprint [--format text|flags|json] [--site DIR] [--checkout DIR] [--root DIR]",
      .summary = "versions installed here, from files alone: in a job's container or on its node",
      .example = "flightplan fingerprint\nflightplan validate pretrain.sh $(flightplan fingerprint --format flags)",
      .groups = {
          {"look in",
           {{"--site", "DIR", "a folder of Python packages beside the usual ones; repeat it for more",
             ToList(&options.sites)},
            {"--checkout", "DIR", "a source checkout of the framework; repeat it for more", ToList(&options.checkouts)},
            {"--root", "DIR", "take every path below DIR, such as an unpacked image", ToText(&options.root)}}},
          {"print",
           {{"--format", "F", "text (default), flags (for resolve and validate), json (fields of a request)",
             ToChoice(&format, {"text", "flags", "json"})}}},
          BackendFlags(&where)}};
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  std::vector<std::string> folders = {options.root};
  for (const auto* named : {&options.sites, &options.checkouts}) {
    folders.insert(folders.end(), named->begin(), named->end());
  }
  for (const std::string& folder : folders) {
    std::error_code error;
    const std::filesystem::directory_iterator readable(folder, error);
    if (error) return Misuse(command, absl::StrCat("cannot read ", folder, ": ", error.message()), context);
  }
  const Fingerprint print = TakeFingerprint(options);
  if (format == "text") {
    context.out += TableText(print, context.terminal);
    return kExitOk;
  }
  const absl::StatusOr<std::shared_ptr<Backend>> backend = MakeBackend(where, context);
  if (!backend.ok()) return Misuse(command, backend.status().message(), context);
  v1::ValidateConfigRequest form;
  FillTarget(print, form.mutable_target());
  FillSoftware(print, form.mutable_software());
  if (const absl::Status status = FillHardware(print, **backend, form.mutable_hardware()); !status.ok()) {
    return Failed(command, status, context);
  }
  if (form.hardware().gpu().empty()) form.mutable_hardware()->clear_gpu();
  context.out += format == "json" ? ToJson(form, Zeros::kLeftOut) : FlagsText(form);
  // Standard output is for a machine: what is missing is said beside it.
  for (const std::string& what : print.missing) absl::StrAppend(&context.err, "not found: ", what, "\n");
  return kExitOk;
}

}  // namespace flightplan::cli
