// Several devices of one node as the ranks of an exchange: opened together, held together, timed together.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "probe/device/nccl.h"
#include "probe/kernels/gpu.cuh"
#include "probe/kernels/peers.cuh"

namespace flightplan::probe {

// Used by one thread. Between calls the first rank's device is the current one, as the experiments of one device
// expect.
class Team {
 public:
  ~Team() { Close(); }
  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // `gpus` are open, of one type, and outlive the team. What the devices or this node cannot do is left out of the
  // measurements (`peers_absent`, `nccl_absent`), and is no failure. `link`: what joins them, as a label: "nvlink",
  // "pcie". `nccl_file` empty: where the loader finds it.
  Status Open(std::vector<Gpu*> gpus, std::string link, const std::string& nccl_file = "");
  void Close();

  int ranks() const { return static_cast<int>(gpus_.size()); }
  Gpu& gpu(int rank) const { return *gpus_[static_cast<size_t>(rank)]; }
  PeerState* state(int rank) const { return states_[static_cast<size_t>(rank)]; }
  const std::string& link() const { return link_; }
  Nccl* nccl() const { return nccl_.get(); }
  const std::string& nccl_absent() const { return nccl_absent_; }    // why; empty: it is there
  const std::string& peers_absent() const { return peers_absent_; }  // why kernels do not reach every peer's memory

  // `work` for every rank, with its device current.
  Status Each(const std::function<Status(Gpu& gpu, int rank)>& work);
  Status Synchronize();  // main stream, side and urgent stream of all ranks
  Status RaiseClocks();  // of all at once, as one device's alone would fall again
  // Holds the main stream of every rank until Release, or two seconds at most.
  Status Hold();
  void Release() { *hold_host_ = hold_ticket_; }

  // Microseconds that every rank's main stream takes for `work`, which enqueues on all of them; all begin together.
  Status TimeHeld(const std::function<Status()>& work, std::vector<double>* us);
  // kFailed if a peer did not come in time to an exchange since the last call.
  Status AllCame();

 private:
  Status OpenPeers();

  std::vector<Gpu*> gpus_;
  std::vector<PeerState*> states_;
  std::string link_, nccl_absent_, peers_absent_;
  std::unique_ptr<Nccl> nccl_;
  volatile int* hold_host_ = nullptr;
  int* hold_device_ = nullptr;
  int hold_ticket_ = 0;
};

// The slowest of all, and how much longer than the middle one it takes.
double SlowestOf(const std::vector<double>& us);
double StragglerOf(const std::vector<double>& us);

using StreamOf = std::function<cudaStream_t(Gpu&)>;

// Buffers and calls of one all-to-all by one of the ways: every rank sends `bytes` in equal parts to its peers, or (by
// NCCL alone) in parts that fall by Zipf's law from receiver to receiver, as experts on few ranks take most tokens.
class TeamExchange {
 public:
  // kCombine: the way back, on which every rank adds up the parts that its peers have for it.
  enum class Way { kPush, kPull, kCopyEngine, kNccl, kCombine };
  static const char* Name(Way way);
  // kUnsupported: not between these devices, and why.
  static Status Possible(const Team& team, Way way);

  TeamExchange() = default;
  ~TeamExchange();
  TeamExchange(const TeamExchange&) = delete;
  TeamExchange& operator=(const TeamExchange&) = delete;

  Status Allocate(Team& team, Way way, int64_t bytes, int sms, double zipf = 0);
  // Blocks of the kernels that come onto the chip are counted there, rank by rank.
  void CountStarted(const std::vector<uint32_t*>& counters);
  // One exchange, on the stream that is picked of every rank.
  Status Launch(const StreamOf& stream_of);
  // Runs it on poisoned buffers. Every rank fills what it sends right before the exchange, on its own stream, and right
  // behind it spoils that and holds what it got against what was sent: nothing but the exchange orders all that.
  Status Check();
  int64_t bytes() const { return bytes_; }     // that leave a rank; where parts differ, on average
  double busiest() const { return busiest_; }  // what the busiest rank receives over the average

 private:
  struct Rank {
    uint4 *send = nullptr, *receive = nullptr, *expect = nullptr;
    int64_t send_words = 0, receive_words = 0;
    std::vector<int64_t> send_at, receive_at;  // words before the part for, or from, every rank
    int* differing = nullptr;
    PeerExchange kernel;
  };

  int64_t Words(int from, int to) const;
  void Share(int64_t words, double zipf);
  void MakeKernel(int rank, int sms);
  Status FillSent(Gpu& gpu, int rank);
  Status PoisonSent(Gpu& gpu, int rank);
  Status CountWrong(Gpu& gpu, int rank);
  Status LaunchCopies(const StreamOf& stream_of);
  Status LaunchNccl(const StreamOf& stream_of);

  Team* team_ = nullptr;
  Way way_ = Way::kPush;
  int64_t bytes_ = 0;
  double busiest_ = 1;
  std::vector<int64_t> to_rank_;  // words that every other rank sends to each
  std::vector<Rank> ranks_;
  std::vector<cudaEvent_t> sent_;
};

// Rows of exchanges between the team's devices, and of compute on all of them beside one.
Experiments TeamExchangeExperiments(Team& team);
Experiments TeamOverlapExperiments(Team& team);

}  // namespace flightplan::probe
