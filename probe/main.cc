// flightplan-probe: measures a GPU, prints JSON lines. Options, wiring and the end of the process; nothing else.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "probe/device/cuda_device.h"
#include "probe/device/fake_device.h"
#include "probe/device/lock.h"
#include "probe/environment.h"
#include "probe/fault.h"
#include "probe/method/row_table.h"
#include "probe/method/run.h"
#include "probe/options.h"
#include "probe/watchdog.h"

namespace flightplan::probe {
namespace {

std::atomic<bool> stop_requested = false;

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string UtcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

void PrintRows() {
  for (const RowKindInfo* row = RowTableBegin(); row != RowTableEnd(); ++row) {
    std::printf("%-10s %-20s %-17s %s\n", row->group.data(), row->id.data(), row->unit.data(), row->about.data());
  }
}

Status Open(const Options& options, std::unique_ptr<Device>* device, DeviceLock* lock) {
  if (!options.fake_file.empty()) {
    if (Status status = OpenFakeDevice(options.fake_file, device); !status.ok()) return status;
    return options.lock_directory.empty() ? Ok() : lock->Take(options.lock_directory, (*device)->Info().uuid);
  }
  FixEnvironment(options.connections);
  CudaRequest request = {options.device, options.lock_directory, options.check, options.once};
  request.team = options.devices;
  request.all = options.all_devices;
  request.shape = options.shape;
  request.memory_mib = options.memory_mib;
  return OpenCudaDevice(request, device);
}

int Finish(const Status& status, LineWriter* out) {
  if (!status.ok()) out->Write(ErrorLine(status));
  return static_cast<int>(status.code);
}

// *parsed says, afterwards, how the process may end.
int Main(const std::vector<std::string>& arguments, Options* parsed) {
  // The watchdog uses both writers and the progress until the process ends, so they are never destroyed.
  auto* plain = new LineWriter(stdout, &stop_requested);
  if (Status status = ParseOptions(arguments, parsed); !status.ok()) {
    std::fprintf(stderr, "flightplan-probe: %s\n", status.message.c_str());
    return Finish(status, plain);
  }
  const Options& options = *parsed;
  if (options.help) return std::fputs(Usage().c_str(), stdout), 0;
  if (options.version) return std::printf("flightplan-probe %s\n", kProbeVersion), 0;
  if (options.list) return PrintRows(), 0;

  std::signal(SIGPIPE, SIG_IGN);
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) std::signal(signal, [](int) { stop_requested = true; });
  const double begin = SteadySeconds();
  LineWriter* out = options.fault.empty() ? plain : MakeFaultyWriter(options.fault, &stop_requested).release();
  auto* progress = new Progress;
  progress->Update([](Profile* profile) { profile->measure_time = UtcNow(); });
  StartWatchdog(1.5 * options.budget_seconds, &stop_requested, out, progress);

  DeviceLock lock;
  std::unique_ptr<Device> device;
  if (Status status = Open(options, &device, &lock); !status.ok()) return Finish(status, out);
  const RunRequest request{options.groups, options.budget_seconds - (SteadySeconds() - begin), options.record_file};
  const Status status = Run(*device, request, SteadySeconds, stop_requested, out, progress);
  progress->Update(
      [&](Profile* profile) { profile->duration_us = static_cast<int64_t>(1e6 * (SteadySeconds() - begin)); });
  out->Write(ProfileLine(progress->Snapshot()));
  return Finish(status, out);
}

}  // namespace
}  // namespace flightplan::probe

int main(int argc, char** argv) {
  flightplan::probe::Options options;
  const int code = flightplan::probe::Main({argv + 1, argv + argc}, &options);
  std::fflush(stdout);
  // The watchdog may be at work: no destructors under its feet. But a sanitizer or a profiler reports at the exit.
  if (options.check || options.once) std::exit(code);
  std::_Exit(code);
}
