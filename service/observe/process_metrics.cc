#include "service/observe/process_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace flightplan::service {
namespace {

struct ProcessStat {
  double cpu_seconds = 0;
  double start_seconds = 0;  // since boot
  double virtual_bytes = 0;
  double resident_bytes = 0;
};

ProcessStat ReadStat() {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  // The command's name may hold spaces and parentheses; the fields start behind the last one.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0, system = 0, start = 0, size = 0, pages = 0;
  fields >> user >> system;
  for (int field = 16; field < 22; ++field) fields >> skipped;
  fields >> start >> size >> pages;
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  return {(user + system) / ticks, start / ticks, size, pages * static_cast<double>(sysconf(_SC_PAGESIZE))};
}

double BootSeconds() {
  std::ifstream file("/proc/stat");
  std::string key;
  double value = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    if (fields >> key >> value && key == "btime") return value;
  }
  return 0;
}

double OpenDescriptors() {
  DIR* directory = opendir("/proc/self/fd");
  if (directory == nullptr) return 0;
  double count = 0;
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count - 3;  // ".", ".." and the directory itself
}

double MaxDescriptors() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<double>(limit.rlim_cur) : 0;
}

prometheus::MetricFamily Family(const char* name, const char* help, prometheus::MetricType type, double value) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  prometheus::ClientMetric metric;
  (type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  family.metric.push_back(std::move(metric));
  return family;
}

}  // namespace

void AppendProcessMetrics(std::vector<prometheus::MetricFamily>* families) {
  using prometheus::MetricType;
  const ProcessStat stat = ReadStat();
  families->push_back(Family("process_cpu_seconds_total", "CPU time used.", MetricType::Counter, stat.cpu_seconds));
  families->push_back(Family("process_start_time_seconds", "Start of the process since the epoch.", MetricType::Gauge,
                             BootSeconds() + stat.start_seconds));
  families->push_back(
      Family("process_resident_memory_bytes", "Memory resident.", MetricType::Gauge, stat.resident_bytes));
  families->push_back(Family("process_virtual_memory_bytes", "Address space.", MetricType::Gauge, stat.virtual_bytes));
  families->push_back(Family("process_open_fds", "Open file descriptors.", MetricType::Gauge, OpenDescriptors()));
  families->push_back(Family("process_max_fds", "Most file descriptors allowed.", MetricType::Gauge, MaxDescriptors()));
}

}  // namespace flightplan::service
