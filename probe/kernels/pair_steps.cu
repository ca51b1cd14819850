// What overlapping gains for a whole layer pair: its micro-step, node by node and by every schedule.
#include <algorithm>
#include <cstdlib>

#include "probe/kernels/pair.cuh"

namespace flightplan::probe {
namespace {

// Every node alone, and the schedules; all in every sample, so that they share the state of the chip.
class PairSteps : public Experiment {
 public:
  PairSteps(Gpu& gpu, int sms) : gpu_(gpu), sms_(sms) {
    MoeShape shape = gpu.shape;
    shape.tokens = std::min(shape.tokens, kPairTokens);
    std::map<std::string, double> parameters = RoutedParameters(shape);
    parameters.insert(
        {{"ffn", shape.ffn}, {"ranks", shape.ranks}, {"sms", sms}, {"link_bytes_per_second", LinkRate(gpu)}});
    for (size_t i = 0; i < fit::kPairNodes; ++i) {
      const auto node = static_cast<fit::PairNode>(i);
      // A node without an exchange is what it is; the others stand on the paced link.
      rows_.push_back({"pair.part",
                       parameters,
                       {{"node", std::string(fit::Name(node))}},
                       "us",
                       0,
                       fit::IsExchange(node) ? "emulated" : "measured"});
    }
    for (const char* id : {"pair.seq", "pair.overlap", "pair.overlap_dw", "pair.early_release"}) {
      rows_.push_back({id, parameters, {}, "us", 0, "emulated"});
    }
    rows_.push_back({"pair.overlap", parameters, {{"priority", "high"}}, "us", 0, "emulated"});
    std::map<std::string, double> with_queues = parameters;
    const char* connections = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    with_queues["connections"] = connections == nullptr ? 8 : std::atof(connections);  // 8 is the driver's default
    rows_.push_back({"corun.queues", with_queues, {}, "us", 0, "emulated"});
  }
  bool checked() const override { return true; }
  int sample_count() const override { return 9; }

  Status Prepare() override {
    TRY(pair_.Allocate(gpu_, sms_));
    // Every node once, on both streams.
    TRY(WarmUp(gpu_, [&](cudaStream_t s) { return pair_.Overlapped(s, gpu_.side, {true, true, false}); }));
    std::vector<double> ignored;
    return gpu_.timed() ? Take(&ignored) : Ok();
  }
  Status Take(std::vector<double>* values) override {
    for (size_t i = 0; i < fit::kPairNodes; ++i) {
      TRY(Time([&](cudaStream_t s) { return pair_.Node(static_cast<fit::PairNode>(i), s, /*with_wgrad=*/false); },
               values));
    }
    TRY(Time([&](cudaStream_t s) { return pair_.Sequential(s); }, values));
    for (const fit::PairSchedule& schedule :
         {fit::PairSchedule{true, false, false}, fit::PairSchedule{true, true, false},
          fit::PairSchedule{true, true, true}}) {
      TRY(Time([&](cudaStream_t s) { return pair_.Overlapped(s, gpu_.side, schedule); }, values));
    }
    const double overlapped = (*values)[values->size() - 3];
    TRY(Time([&](cudaStream_t s) { return pair_.Overlapped(s, gpu_.urgent, {true, false, false}); }, values));
    values->push_back(overlapped);  // corun.queues: pair.overlap, under the number of queues in force
    return Ok();
  }

 private:
  Status Time(const Enqueue& work, std::vector<double>* values) {
    double us = 0;
    TRY(TimeHeld(gpu_, work, &us));
    values->push_back(us);
    return Ok();
  }

  Gpu& gpu_;
  int sms_;
  LayerPair pair_;
};

// The experts' weight gradients apart from the input gradients, over both together. Both alternate.
class WgradSplit : public Experiment {
 public:
  explicit WgradSplit(Gpu& gpu) : gpu_(gpu) {
    const MoeShape& s = gpu.shape;
    rows_ = {{"wgrad.split",
              {{"tokens", std::min(s.tokens, kPairTokens)},
               {"hidden", s.hidden},
               {"topk", s.topk},
               {"experts", s.local_experts()},
               {"ffn", s.ffn}},
              {},
              "ratio",
              0,
              "measured"}};
    stage_ = 1;
  }
  bool checked() const override { return true; }

  Status Prepare() override {
    TRY(pair_.Allocate(gpu_, 4));
    for (const bool apart : {false, true}) {
      double us = 0;
      TimedGraph& window = windows_[apart ? 1 : 0];
      const Enqueue backward = [&](cudaStream_t stream) { return pair_.ExpertsBackward(stream, apart); };
      TRY(WarmUp(gpu_, backward));
      TRY(window.Capture(gpu_, backward));
      TRY(window.Replay(gpu_, &us));
    }
    return Ok();
  }
  Status Take(std::vector<double>* values) override {
    double joined = 0, apart = 0;
    TRY(windows_[0].Replay(gpu_, &joined));
    TRY(windows_[1].Replay(gpu_, &apart));
    values->push_back(apart / joined);
    return Ok();
  }

 private:
  Gpu& gpu_;
  LayerPair pair_;
  TimedGraph windows_[2];
};

}  // namespace

std::unique_ptr<Experiment> MakePairSteps(Gpu& gpu, int sms) { return std::make_unique<PairSteps>(gpu, sms); }

std::unique_ptr<Experiment> MakeWgradSplit(Gpu& gpu) { return std::make_unique<WgradSplit>(gpu); }

}  // namespace flightplan::probe
