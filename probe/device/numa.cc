#include "probe/device/numa.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>

namespace flightplan::probe {
namespace {

constexpr int kMostNodes = 64;
constexpr int kPreferred = 1;  // MPOL_PREFERRED of linux/mempolicy.h

std::string FirstLine(const std::string& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

bool ToInt(const std::string& text, int* number) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return code == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::optional<int> NumaNodeOf(const std::string& pci_bus_id, const std::string& sysfs) {
  std::string bus = pci_bus_id;  // sysfs writes it in small letters, and the domain with four digits
  std::transform(bus.begin(), bus.end(), bus.begin(), [](unsigned char c) { return std::tolower(c); });
  if (bus.size() > 12) bus = bus.substr(bus.size() - 12);
  int node = 0;
  if (!ToInt(FirstLine(sysfs + "/bus/pci/devices/" + bus + "/numa_node"), &node) || node < 0 || node >= kMostNodes)
    return std::nullopt;
  return node;
}

std::vector<int> CpusOf(const std::string& list) {
  std::vector<int> cpus;
  for (size_t from = 0; from < list.size();) {
    const size_t comma = std::min(list.find(',', from), list.size());
    const std::string range = list.substr(from, comma - from);
    const size_t dash = std::min(range.find('-'), range.size());
    int first = 0, last = 0;
    if (!ToInt(range.substr(0, dash), &first)) return {};
    last = first;
    if (dash < range.size() && !ToInt(range.substr(dash + 1), &last)) return {};
    if (first < 0 || last < first || last >= CPU_SETSIZE) return {};
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    from = comma + 1;
  }
  return cpus;
}

std::string BindToNode(int node, const std::string& sysfs) {
  const std::string name = "NUMA node " + std::to_string(node) + ", the GPU's";
  cpu_set_t allowed, wanted;
  CPU_ZERO(&wanted);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return "not bound to " + name;
  for (const int cpu : CpusOf(FirstLine(sysfs + "/devices/system/node/node" + std::to_string(node) + "/cpulist"))) {
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &wanted);
  }
  if (CPU_COUNT(&wanted) == 0) return "not bound to " + name + ": this process may use none of its CPUs";
  if (sched_setaffinity(0, sizeof wanted, &wanted) != 0) return "not bound to " + name;
  const unsigned long nodes = 1ul << node;
  const bool memory = syscall(SYS_set_mempolicy, kPreferred, &nodes, kMostNodes + 1) == 0;
  return "bound to " + name + (memory ? "" : "; its memory by first touch alone");
}

}  // namespace flightplan::probe
