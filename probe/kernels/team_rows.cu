// What a team of devices measures: exchanges between real peers from latency to bandwidth, what uneven parts and the
// slowest device cost, and compute on every device beside an exchange.
#include <algorithm>

#include "probe/kernels/corun_compute.cuh"
#include "probe/kernels/team.cuh"
#include "probe/method/statistics.h"

namespace flightplan::probe {
namespace {

using Way = TeamExchange::Way;
constexpr int kUsualSms = 20;
constexpr int kMostTurns = 64;  // in a window: all are queued while the streams are held
constexpr double kNoSkew = 0;

cudaStream_t MainStream(Gpu& gpu) { return gpu.stream; }

Status ResetArenas(Team& team) {
  return team.Each([](Gpu& gpu, int) -> Status {
    gpu.arena.Reset();
    return Ok();
  });
}

// What a rank of the team sends with every token going to K experts of all ranks.
int64_t LayerBytes(const Team& team, const MoeShape& shape) {
  return shape.rows() * shape.token_bytes() / team.ranks() * (team.ranks() - 1);
}

const char* RowId(Way way) {
  constexpr const char* kIds[] = {"a2a.p2p.push", "a2a.p2p.pull", "a2a.ce", "a2a.nccl", "a2a.combine"};
  return kIds[static_cast<int>(way)];
}

bool HasKernel(Way way) { return way == Way::kPush || way == Way::kPull || way == Way::kCombine; }

// Turns of one exchange on all devices, timed by the slowest of them.
class TeamWindow {
 public:
  Status Prepare(Team& team, Way way, int64_t bytes, int sms, double zipf) {
    team_ = &team;
    TRY(exchange_.Allocate(team, way, bytes, sms, zipf));
    TRY(exchange_.Check());
    if (!team.gpu(0).timed()) return Ok();
    std::vector<double> us;
    for (int i = 0; i < 2; ++i) TRY(Take(&us));  // the first one sets up connections
    turns_ = std::clamp(static_cast<int>(kWindowUs / std::max(SlowestOf(us), 1e-3)), 1, kMostTurns);
    return Take(&us);
  }
  // Of one turn, by rank.
  Status Take(std::vector<double>* us) {
    TRY(team_->TimeHeld(
        [this]() -> Status {
          for (int i = 0; i < turns_; ++i) TRY(exchange_.Launch(MainStream));
          return Ok();
        },
        us));
    for (double& each : *us) each /= turns_;
    return Ok();
  }

 private:
  Team* team_ = nullptr;
  TeamExchange exchange_;
  int turns_ = 1;
};

class PeerRate : public Experiment {
 public:
  PeerRate(Team& team, Way way, int64_t bytes, int sms, int stage, bool latency = false)
      : team_(team), way_(way), asked_(bytes), sms_(sms), latency_(latency) {
    // Whole words for every peer, as they are sent.
    const int peers = team.ranks() - 1;
    const double sent = static_cast<double>(std::max<int64_t>(1, bytes / 16 / peers) * 16 * peers);
    std::map<std::string, double> parameters = {{"bytes", sent}, {"ranks", team.ranks()}};
    if (HasKernel(way)) parameters["sms"] = sms;
    std::map<std::string, std::string> labels = {{"link", team.link()}};
    if (!latency) rows_.push_back({RowId(way), parameters, labels, "bytes_per_second", sent});
    labels["path"] = TeamExchange::Name(way);
    if (latency) rows_.push_back({"a2a.alpha", parameters, labels, "us"});
    straggler_ = !latency && stage == 0;
    if (straggler_) rows_.push_back({"a2a.straggler", parameters, labels, "ratio"});
    stage_ = stage;
  }
  bool checked() const override { return true; }
  int sample_count() const override { return latency_ ? 25 : 11; }

  Status Prepare() override {
    TRY(ResetArenas(team_));
    return window_.Prepare(team_, way_, asked_, sms_, kNoSkew);
  }
  Status Take(std::vector<double>* values) override {
    std::vector<double> us;
    TRY(window_.Take(&us));
    values->push_back(SlowestOf(us));
    if (straggler_) values->push_back(StragglerOf(us));
    return Ok();
  }

 private:
  Team& team_;
  Way way_;
  int64_t asked_;
  int sms_;
  bool latency_, straggler_ = false;
  TeamWindow window_;
};

// NCCL's exchange with parts by Zipf's law, over the same with equal parts and as many bytes in all. Both alternate.
class Skewed : public Experiment {
 public:
  Skewed(Team& team, double zipf, int stage) : team_(team), zipf_(zipf) {
    rows_ = {{"a2a.skew",
              {{"zipf", zipf}, {"bytes", static_cast<double>(Bytes())}, {"ranks", team.ranks()}},
              {{"link", team.link()}, {"path", "nccl"}},
              "ratio"}};
    stage_ = stage;
  }
  bool checked() const override { return true; }

  Status Prepare() override {
    TRY(ResetArenas(team_));
    TRY(skewed_.Prepare(team_, Way::kNccl, Bytes(), 0, zipf_));
    return even_.Prepare(team_, Way::kNccl, Bytes(), 0, kNoSkew);
  }
  Status Take(std::vector<double>* values) override {
    std::vector<double> skewed, even;
    TRY(skewed_.Take(&skewed));
    TRY(even_.Take(&even));
    values->push_back(SlowestOf(skewed) / SlowestOf(even));
    return Ok();
  }

 private:
  // A part of a layer's, so that the busiest rank's buffers fit.
  int64_t Bytes() const { return LayerBytes(team_, team_.gpu(0).shape) / 4; }

  Team& team_;
  double zipf_;
  TeamWindow skewed_, even_;
};

// Compute on every device beside an exchange between all of them.
class TeamCorun : public Experiment {
 public:
  TeamCorun(Team& team, Way way, Work work, int sms, int stage) : team_(team), way_(way), sms_(sms), work_(work) {
    std::map<std::string, double> parameters = {{"ranks", team.ranks()}};
    if (way != Way::kNccl) parameters["sms"] = sms;  // NCCL does not say how many it takes
    rows_ = CorunRows(parameters, TeamExchange::Name(way), work, "measured", {{"link", team.link()}});
    stage_ = stage;
  }
  bool checked() const override { return true; }

  Status Prepare() override {
    TRY(ResetArenas(team_));
    TRY(exchange_.Allocate(team_, way_, LayerBytes(team_, team_.gpu(0).shape), sms_));
    TRY(exchange_.Check());
    compute_.assign(static_cast<size_t>(team_.ranks()), CorunCompute(work_));
    TRY(team_.Each([&](Gpu& gpu, int rank) -> Status {
      TRY(compute_[static_cast<size_t>(rank)].Allocate(gpu));
      if (!HasKernel(way_)) return Ok();
      uint32_t* counter = nullptr;
      TRY(gpu.arena.Get(1, &counter));
      counters_.push_back(counter);
      return Ok();
    }));
    if (HasKernel(way_)) exchange_.CountStarted(counters_);
    std::vector<double> compute, other;
    for (int i = 0; i < 2; ++i) {
      TRY(Alone(/*with_compute=*/true, &compute));
      TRY(Alone(/*with_compute=*/false, &other));
    }
    turns_ = TurnsFor(SlowestOf(other), SlowestOf(compute));
    return Ok();
  }

  // The middle one of the devices: a device that is slower than the others is a figure of its own (a2a.straggler).
  Status Take(std::vector<double>* values) override {
    std::vector<double> compute, other;
    TRY(Alone(true, &compute));
    TRY(Alone(false, &other));
    std::vector<Together> all(compute.size());
    for (size_t r = 0; r < all.size(); ++r) {
      all[r].compute_alone = compute[r];
      all[r].other_alone = other[r];
    }
    TRY(Beside(&all));
    std::vector<double> of_compute, of_other, lead;
    for (const Together& t : all) {
      of_compute.push_back(t.ComputeSlowdown());
      of_other.push_back(t.OtherSlowdown());
      lead.push_back(std::max(0.0, t.lead));
    }
    for (std::vector<double>* each : {&of_compute, &of_other, &lead}) values->push_back(Median(*each).value);
    return Ok();
  }

 private:
  Status Compute(cudaStream_t stream, int rank) {
    for (int i = 0; i < turns_; ++i) TRY(compute_[static_cast<size_t>(rank)].Launch(stream));
    return Ok();
  }
  Status Alone(bool with_compute, std::vector<double>* us) {
    return team_.TimeHeld(
        [&]() -> Status {
          if (!with_compute) return exchange_.Launch(MainStream);
          return team_.Each([&](Gpu& gpu, int rank) { return Compute(gpu.stream, rank); });
        },
        us);
  }

  Status Beside(std::vector<Together>* all) {
    std::vector<Span> of_compute(all->size()), of_other(all->size());
    if (HasKernel(way_)) {
      TRY(team_.Each([&](Gpu& gpu, int rank) -> Status {
        CUDA_TRY(cudaMemsetAsync(counters_[static_cast<size_t>(rank)], 0, sizeof(uint32_t), gpu.stream));
        return Ok();
      }));
    }
    TRY(team_.Hold());
    const Status queued = Queue(&of_compute, &of_other);
    team_.Release();
    TRY(queued);
    TRY(team_.Synchronize());
    TRY(team_.Each([&](Gpu&, int rank) -> Status {
      const auto r = static_cast<size_t>(rank);
      Together& t = (*all)[r];
      float lead_ms = 0;
      CUDA_TRY(cudaEventElapsedTime(&lead_ms, of_other[r].begin(), of_compute[r].begin()));
      t.lead = 1e3 * static_cast<double>(lead_ms);
      TRY(of_compute[r].Us(&t.compute));
      return of_other[r].Us(&t.other);
    }));
    return team_.AllCame();
  }

  // The exchange on the urgent streams; compute follows it.
  Status Queue(std::vector<Span>* of_compute, std::vector<Span>* of_other) {
    TRY(team_.Each([&](Gpu& gpu, int rank) -> Status {
      CUDA_TRY(cudaEventRecord(gpu.joins[0], gpu.stream));
      CUDA_TRY(cudaStreamWaitEvent(gpu.urgent, gpu.joins[0]));
      return (*of_other)[static_cast<size_t>(rank)].Begin(gpu.urgent);
    }));
    TRY(exchange_.Launch([](Gpu& gpu) { return gpu.urgent; }));
    return team_.Each([&](Gpu& gpu, int rank) -> Status {
      const auto r = static_cast<size_t>(rank);
      TRY((*of_other)[r].End(gpu.urgent));
      TRY(LaunchGate(gpu.stream, HasKernel(way_) ? counters_[r] : nullptr, static_cast<uint32_t>(sms_)));
      TRY((*of_compute)[r].Begin(gpu.stream));
      TRY(Compute(gpu.stream, rank));
      return (*of_compute)[r].End(gpu.stream);
    });
  }

  Team& team_;
  Way way_;
  int sms_;
  Work work_;
  TeamExchange exchange_;
  std::vector<CorunCompute> compute_;
  std::vector<uint32_t*> counters_;
  int turns_ = 1;
};

}  // namespace

// Latency first: the smallest exchange is one row to every peer. Then up to a layer's.
Experiments TeamExchangeExperiments(Team& team) {
  Experiments all;
  const Gpu& gpu = team.gpu(0);
  const int64_t layer = LayerBytes(team, gpu.shape), row = gpu.shape.token_bytes() * (team.ranks() - 1);
  for (const Way way : {Way::kPush, Way::kPull, Way::kCopyEngine, Way::kNccl}) {
    if (const Status possible = TeamExchange::Possible(team, way); !possible.ok()) {
      all.push_back(std::make_unique<Absent>(RowId(way), possible.message));
      continue;
    }
    all.push_back(std::make_unique<PeerRate>(team, way, row, kUsualSms, 0, /*latency=*/true));
    all.push_back(std::make_unique<PeerRate>(team, way, layer, kUsualSms, 0));
    for (int64_t bytes = layer / 4; bytes > 2 * row; bytes /= 4) {
      all.push_back(std::make_unique<PeerRate>(team, way, bytes, kUsualSms, way == Way::kNccl ? 1 : 2));
    }
    for (const int sms : {8, 32, 4, 16, 24, 48, 64}) {
      if (!HasKernel(way) || 2 * sms > gpu.sm_count || (way == Way::kPull && sms != 8)) continue;
      all.push_back(std::make_unique<PeerRate>(team, way, layer, sms, sms == 8 || sms == 32 ? 1 : 2));
    }
  }
  if (const Status possible = TeamExchange::Possible(team, Way::kCombine); !possible.ok()) {
    all.push_back(std::make_unique<Absent>(RowId(Way::kCombine), possible.message));
  } else {
    for (const int sms : {kUsualSms, 8, 32}) {
      if (2 * sms > gpu.sm_count) continue;
      all.push_back(std::make_unique<PeerRate>(team, Way::kCombine, layer, sms, sms == kUsualSms ? 1 : 2));
    }
  }
  for (const double zipf : {1.0, 0.5}) {
    if (team.nccl() != nullptr) all.push_back(std::make_unique<Skewed>(team, zipf, zipf == 1.0 ? 1 : 2));
  }
  return all;
}

Experiments TeamOverlapExperiments(Team& team) {
  Experiments all;
  for (const Way way : {Way::kNccl, Way::kPush, Way::kPull, Way::kCopyEngine}) {
    if (!TeamExchange::Possible(team, way).ok()) continue;  // the exchange group says why
    for (const Work work : kWorks) {
      const int stage = work != Work::kGemm ? 1 : way == Way::kNccl || way == Way::kPush ? 0 : 1;
      all.push_back(std::make_unique<TeamCorun>(team, way, work, HasKernel(way) ? kUsualSms : 0, stage));
      for (const int sms : {8, 32}) {
        if (way != Way::kPush || 2 * sms > team.gpu(0).sm_count) continue;
        all.push_back(std::make_unique<TeamCorun>(team, way, work, sms, 2));
      }
    }
  }
  return all;
}

}  // namespace flightplan::probe
