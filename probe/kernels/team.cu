#include <algorithm>
#include <cmath>

#include "probe/kernels/copies.cuh"
#include "probe/kernels/team.cuh"

namespace flightplan::probe {
namespace {

constexpr uint32_t kSeedSent = 101;
constexpr double kRiseUs = 250e3;

Status OnDevice(const Gpu& gpu) {
  CUDA_TRY(cudaSetDevice(gpu.index));
  return Ok();
}

}  // namespace

Status Team::Open(std::vector<Gpu*> gpus, std::string link, const std::string& nccl_file) {
  gpus_ = std::move(gpus);
  link_ = std::move(link);
  if (ranks() < 2 || ranks() > kMostRanks) {
    return Fail(Code::kUnsupported,
                "an exchange needs 2.." + std::to_string(kMostRanks) + " devices, not " + std::to_string(ranks()));
  }
  TRY(OnDevice(gpu(0)));
  int* host = nullptr;
  CUDA_TRY(cudaHostAlloc(&host, sizeof(int), cudaHostAllocMapped | cudaHostAllocPortable));
  *host = 0;
  hold_host_ = host;
  CUDA_TRY(cudaHostGetDevicePointer(&hold_device_, host, 0));  // one address for all devices that share it
  TRY(Each([&](Gpu& g, int) -> Status {
    g.team_size = ranks();
    PeerState* state = nullptr;
    CUDA_TRY(cudaMalloc(&state, sizeof(PeerState)));
    states_.push_back(state);
    CUDA_TRY(cudaMemsetAsync(state, 0, sizeof(PeerState), g.stream));
    CUDA_TRY(cudaStreamSynchronize(g.stream));
    return Ok();
  }));
  TRY(OpenPeers());
  if (Status loaded = Nccl::Load(nccl_file, &nccl_); !loaded.ok()) {
    nccl_absent_ = loaded.message;
    return Ok();
  }
  std::vector<int> devices;
  for (const Gpu* each : gpus_) devices.push_back(each->index);
  if (Status opened = nccl_->Open(devices); !opened.ok()) {
    nccl_absent_ = opened.message;
    nccl_.reset();
  }
  return OnDevice(gpu(0));  // NCCL may have left another one current
}

Status Team::OpenPeers() {
  return Each([&](Gpu& g, int) -> Status {
    for (const Gpu* peer : gpus_) {
      if (peer == &g) continue;
      int can = 0;
      CUDA_TRY(cudaDeviceCanAccessPeer(&can, g.index, peer->index));
      if (can == 0) {
        peers_absent_ =
            "device " + std::to_string(g.index) + " does not reach the memory of device " + std::to_string(peer->index);
        continue;
      }
      const cudaError_t error = cudaDeviceEnablePeerAccess(peer->index, 0);
      if (error == cudaErrorPeerAccessAlreadyEnabled) {
        cudaGetLastError();  // which remembers it
      } else if (error != cudaSuccess) {
        return CudaFailure(error, "cudaDeviceEnablePeerAccess", __FILE__, __LINE__);
      }
    }
    return Ok();
  });
}

void Team::Close() {
  if (hold_host_ == nullptr) return;
  nccl_.reset();
  for (Gpu* each : gpus_) each->team_size = 1;
  for (PeerState* state : states_) cudaFree(state);  // best effort: what fails here the driver cleans up
  states_.clear();
  cudaFreeHost(const_cast<int*>(hold_host_));
  hold_host_ = nullptr;
}

Status Team::Each(const std::function<Status(Gpu& gpu, int rank)>& work) {
  Status status = Ok();
  for (int rank = 0; rank < ranks() && status.ok(); ++rank) {
    status = OnDevice(gpu(rank));
    if (status.ok()) status = work(gpu(rank), rank);
  }
  const Status back = OnDevice(gpu(0));
  return status.ok() ? back : status;
}

Status Team::Synchronize() {
  return Each([](Gpu& g, int) -> Status {
    for (cudaStream_t stream : {g.side, g.urgent, g.stream}) CUDA_TRY(cudaStreamSynchronize(stream));
    return Ok();
  });
}

Status Team::RaiseClocks() {
  const double begin = HostUs();
  while (gpu(0).timed() && HostUs() - begin < kRiseUs) {
    TRY(Each([](Gpu& g, int) {
      return FillFloat(g.stream, reinterpret_cast<float*>(g.arena.base()), g.arena.size() / 4, /*seed=*/1, 1);
    }));
    TRY(Synchronize());
  }
  return Ok();
}

Status Team::Hold() {
  ++hold_ticket_;
  if (!gpu(0).timed()) Release();
  return Each([&](Gpu& g, int) { return HoldOn(g.stream, hold_device_, hold_ticket_); });
}

Status Team::TimeHeld(const std::function<Status()>& work, std::vector<double>* us) {
  std::vector<Span> spans(gpus_.size());
  const auto span = [&](int rank) -> Span& { return spans[static_cast<size_t>(rank)]; };
  TRY(Hold());
  Status status = Each([&](Gpu& g, int rank) { return span(rank).Begin(g.stream); });
  if (status.ok()) status = work();
  if (status.ok()) status = Each([&](Gpu& g, int rank) { return span(rank).End(g.stream); });
  Release();
  TRY(status);
  TRY(Synchronize());
  us->assign(spans.size(), 0);
  TRY(Each([&](Gpu&, int rank) { return span(rank).Us(&(*us)[static_cast<size_t>(rank)]); }));
  return AllCame();
}

Status Team::AllCame() {
  return Each([&](Gpu& g, int rank) -> Status {
    uint32_t late = 0;
    TRY(Download(g.stream, &state(rank)->late, sizeof late, &late));
    if (late == 0) return Ok();
    // Whatever is counted half-way would be taken for the next exchange's.
    for (int each = 0; each < ranks(); ++each) {
      CUDA_TRY(cudaSetDevice(gpu(each).index));
      CUDA_TRY(cudaMemsetAsync(state(each), 0, sizeof(PeerState), gpu(each).stream));
      CUDA_TRY(cudaStreamSynchronize(gpu(each).stream));
    }
    return Fail(Code::kFailed, "a peer of device " + std::to_string(g.index) + " did not come within two seconds");
  });
}

double SlowestOf(const std::vector<double>& us) { return us.empty() ? 0 : *std::max_element(us.begin(), us.end()); }

double StragglerOf(const std::vector<double>& us) {
  if (us.empty()) return 0;
  std::vector<double> sorted = us;
  std::sort(sorted.begin(), sorted.end());
  const size_t n = sorted.size();
  const double middle = n % 2 == 1 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
  return sorted.back() / middle;
}

const char* TeamExchange::Name(Way way) {
  constexpr const char* kNames[] = {"push", "pull", "copy_engine", "nccl", "combine"};
  return kNames[static_cast<int>(way)];
}

TeamExchange::~TeamExchange() {
  for (cudaEvent_t event : sent_) cudaEventDestroy(event);
}

Status TeamExchange::Possible(const Team& team, Way way) {
  const std::string& absent = way == Way::kNccl ? team.nccl_absent() : team.peers_absent();
  return absent.empty() ? Ok() : Fail(Code::kUnsupported, absent);
}

int64_t TeamExchange::Words(int from, int to) const { return from == to ? 0 : to_rank_[static_cast<size_t>(to)]; }

// What every rank sends to each of the others, and where it lies.
void TeamExchange::Share(int64_t words, double zipf) {
  const int ranks = team_->ranks();
  double sum = 0, most = 0;
  for (int r = 0; r < ranks; ++r) sum += std::pow(r + 1, -zipf);
  int64_t all = 0;
  for (int r = 0; r < ranks; ++r) {
    const double share = std::pow(r + 1, -zipf) / sum * ranks;  // 1 on average
    to_rank_.push_back(std::max<int64_t>(1, std::llround(static_cast<double>(words) * share)));
    all += to_rank_.back();
    most = std::max(most, static_cast<double>(to_rank_.back()));
  }
  busiest_ = most * ranks / static_cast<double>(all);
  bytes_ = 16 * all * (ranks - 1) / ranks;
  ranks_.resize(static_cast<size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    Rank& rank = ranks_[static_cast<size_t>(r)];
    for (int other = 0; other < ranks; ++other) {
      rank.send_at.push_back(rank.send_words);
      rank.receive_at.push_back(rank.receive_words);
      rank.send_words += Words(r, other);
      rank.receive_words += Words(other, r);
    }
  }
}

Status TeamExchange::Allocate(Team& team, Way way, int64_t bytes, int sms, double zipf) {
  TRY(Possible(team, way));
  team_ = &team;
  way_ = way;
  Share(std::max<int64_t>(1, bytes / 16 / (team.ranks() - 1)), zipf);
  TRY(team.Each([&](Gpu& gpu, int r) -> Status {
    Rank& rank = ranks_[static_cast<size_t>(r)];
    TRY(gpu.arena.Get(rank.send_words, &rank.send));
    TRY(gpu.arena.Get(rank.receive_words, &rank.receive));
    TRY(gpu.arena.Get(rank.receive_words, &rank.expect));
    TRY(gpu.arena.Get(1, &rank.differing));
    cudaEvent_t& sent = sent_.emplace_back();
    CUDA_TRY(cudaEventCreateWithFlags(&sent, cudaEventDisableTiming));
    return FillSent(gpu, r);
  }));
  for (int r = 0; r < team.ranks(); ++r) MakeKernel(r, sms);
  return team.Synchronize();
}

// Peers from the next rank on, so that no rank is everyone's first.
void TeamExchange::MakeKernel(int r, int sms) {
  const int ranks = team_->ranks();
  const Rank& rank = ranks_[static_cast<size_t>(r)];
  PeerExchange& e = ranks_[static_cast<size_t>(r)].kernel;
  e.rank = r;
  e.peers = ranks - 1;
  e.own = team_->state(r);
  e.words = to_rank_.front();
  e.sms = sms;
  for (int p = 0; p < e.peers; ++p) {
    const int other = (r + 1 + p) % ranks;
    const Rank& peer = ranks_[static_cast<size_t>(other)];
    const size_t mine = static_cast<size_t>(r), theirs = static_cast<size_t>(other);
    e.rank_of[p] = other;
    e.of_peer[p] = team_->state(other);
    const bool reads = way_ == Way::kPull || way_ == Way::kCombine;
    e.from[p] = reads ? peer.send + peer.send_at[mine] : rank.send + rank.send_at[theirs];
    e.to[p] = reads ? rank.receive + rank.receive_at[theirs] : peer.receive + peer.receive_at[mine];
  }
}

void TeamExchange::CountStarted(const std::vector<uint32_t*>& counters) {
  for (size_t r = 0; r < ranks_.size(); ++r) ranks_[r].kernel.started = counters[r];
}

Status TeamExchange::Launch(const StreamOf& stream_of) {
  if (way_ == Way::kNccl) return LaunchNccl(stream_of);
  if (way_ == Way::kCopyEngine) return LaunchCopies(stream_of);
  const PeerWay way = way_ == Way::kPush ? PeerWay::kPush : way_ == Way::kPull ? PeerWay::kPull : PeerWay::kCombine;
  return team_->Each([&](Gpu& gpu, int rank) {
    return LaunchPeerExchange(gpu, stream_of(gpu), way, ranks_[static_cast<size_t>(rank)].kernel);
  });
}

// A rank copies to its peers on several streams at once, and is done when all have copied to it.
Status TeamExchange::LaunchCopies(const StreamOf& stream_of) {
  TRY(team_->Each([&](Gpu& gpu, int r) -> Status {
    cudaStream_t stream = stream_of(gpu);
    const PeerExchange& e = ranks_[static_cast<size_t>(r)].kernel;
    CUDA_TRY(cudaEventRecord(gpu.fork, stream));
    for (cudaStream_t branch : gpu.branches) CUDA_TRY(cudaStreamWaitEvent(branch, gpu.fork));
    for (int p = 0; p < e.peers; ++p) {
      CUDA_TRY(cudaMemcpyPeerAsync(e.to[p], team_->gpu(e.rank_of[p]).index, e.from[p], gpu.index,
                                   static_cast<size_t>(16 * e.words), gpu.branches[p % 4]));
    }
    for (int i = 0; i < 4; ++i) {
      CUDA_TRY(cudaEventRecord(gpu.joins[i], gpu.branches[i]));
      CUDA_TRY(cudaStreamWaitEvent(stream, gpu.joins[i]));
    }
    CUDA_TRY(cudaEventRecord(sent_[static_cast<size_t>(r)], stream));
    return Ok();
  }));
  return team_->Each([&](Gpu& gpu, int) -> Status {
    for (cudaEvent_t event : sent_) CUDA_TRY(cudaStreamWaitEvent(stream_of(gpu), event));
    return Ok();
  });
}

Status TeamExchange::LaunchNccl(const StreamOf& stream_of) {
  Nccl& nccl = *team_->nccl();
  TRY(nccl.Begin());
  const Status queued = team_->Each([&](Gpu& gpu, int r) -> Status {
    const Rank& rank = ranks_[static_cast<size_t>(r)];
    for (int p = 1; p < team_->ranks(); ++p) {
      const int other = (r + p) % team_->ranks();
      const auto at = static_cast<size_t>(other);
      const auto bytes = [](int64_t words) { return static_cast<size_t>(16 * words); };
      TRY(nccl.Send(r, other, rank.send + rank.send_at[at], bytes(Words(r, other)), stream_of(gpu)));
      TRY(nccl.Receive(r, other, rank.receive + rank.receive_at[at], bytes(Words(other, r)), stream_of(gpu)));
    }
    return Ok();
  });
  const Status ended = nccl.End();  // whatever happened, or every later group is within this one
  TRY(team_->Each([](Gpu&, int) { return Ok(); }));
  return queued.ok() ? ended : queued;
}

Status TeamExchange::FillSent(Gpu& gpu, int r) {
  const Rank& rank = ranks_[static_cast<size_t>(r)];
  return FillBf16(gpu.stream, reinterpret_cast<Bf16*>(rank.send), 8 * rank.send_words,
                  kSeedSent + static_cast<uint32_t>(r), 1);
}

Status TeamExchange::PoisonSent(Gpu& gpu, int r) {
  const Rank& rank = ranks_[static_cast<size_t>(r)];
  return Poison(gpu.stream, rank.send, 16 * rank.send_words);
}

Status TeamExchange::CountWrong(Gpu& gpu, int r) {
  const Rank& rank = ranks_[static_cast<size_t>(r)];
  if (way_ != Way::kCombine) {
    return LaunchCountDifferent(gpu.stream, rank.receive, rank.expect, rank.receive_words, rank.differing);
  }
  Pieces pieces = {.count = rank.kernel.peers, .words = rank.kernel.words};
  for (int p = 0; p < pieces.count; ++p) {
    pieces.from[p] = rank.expect + rank.receive_at[static_cast<size_t>(rank.kernel.rank_of[p])];
  }
  return LaunchCountWrongSums(gpu.stream, pieces, rank.kernel.to[0], rank.differing);
}

Status TeamExchange::Check() {
  TRY(team_->Synchronize());
  // What a rank has to get is fetched by the driver.
  TRY(team_->Each([&](Gpu& gpu, int r) -> Status {
    const Rank& rank = ranks_[static_cast<size_t>(r)];
    TRY(Poison(gpu.stream, rank.receive, 16 * rank.receive_words));
    for (int other = 0; other < team_->ranks(); ++other) {
      const Rank& sender = ranks_[static_cast<size_t>(other)];
      if (other == r) continue;
      CUDA_TRY(cudaMemcpyPeerAsync(rank.expect + rank.receive_at[static_cast<size_t>(other)], gpu.index,
                                   sender.send + sender.send_at[static_cast<size_t>(r)], team_->gpu(other).index,
                                   static_cast<size_t>(16 * Words(other, r)), gpu.stream));
    }
    return Ok();
  }));
  TRY(team_->Synchronize());
  TRY(team_->Each([&](Gpu& gpu, int r) { return PoisonSent(gpu, r); }));
  TRY(team_->Synchronize());
  TRY(team_->Each([&](Gpu& gpu, int r) { return FillSent(gpu, r); }));
  TRY(Launch([](Gpu& gpu) { return gpu.stream; }));
  TRY(team_->Each([&](Gpu& gpu, int r) -> Status {
    TRY(PoisonSent(gpu, r));
    return CountWrong(gpu, r);
  }));
  TRY(team_->Each([&](Gpu& gpu, int r) { return FillSent(gpu, r); }));  // what is timed is no poison
  TRY(team_->Synchronize());
  TRY(team_->AllCame());
  return team_->Each([&](Gpu& gpu, int r) -> Status {
    int differing = 0;
    TRY(Download(gpu.stream, ranks_[static_cast<size_t>(r)].differing, sizeof differing, &differing));
    if (differing == 0) return Ok();
    return Fail(Code::kWithheld, "the exchange delivered " + std::to_string(differing) + " wrong words to device " +
                                     std::to_string(gpu.index));
  });
}

}  // namespace flightplan::probe
