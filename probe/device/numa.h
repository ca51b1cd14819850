// The NUMA node of a GPU: pinned memory and launches are timed from the side of the machine that the GPU hangs on, as a
// training job that is bound to its GPUs runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace flightplan::probe {

// Of the PCI device "0000:3b:00.0"; nothing: the machine has one node, or does not tell.
std::optional<int> NumaNodeOf(const std::string& pci_bus_id, const std::string& sysfs = "/sys");

// "0-3,8" -> {0, 1, 2, 3, 8}; empty: no such list.
std::vector<int> CpusOf(const std::string& list);

// Binds the calling thread to the node's CPUs, as far as this process may use them, and its memory to the node where it
// has room. What came of it, as a note for the profile.
std::string BindToNode(int node, const std::string& sysfs = "/sys");

}  // namespace flightplan::probe
