// What starting kernels costs, eagerly and as graphs.
#include <algorithm>

#include "probe/kernels/elementwise.cuh"
#include "probe/kernels/pair.cuh"

namespace flightplan::probe {
namespace {

constexpr int kKernels = 256;

// About two microseconds, whatever the clock.
__global__ void ShortKernel(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

Status LaunchShort(cudaStream_t stream) { return RunKernel({stream, 1, 32}, ShortKernel, 2500); }

Status LaunchMany(cudaStream_t stream, int kernels = kKernels) {
  for (int i = 0; i < kernels; ++i) TRY(LaunchShort(stream));
  return Ok();
}

class LaunchExperiment : public Experiment {
 public:
  LaunchExperiment(Gpu& gpu, bool graph, int kernels, int stage) : gpu_(gpu), graph_(graph), kernels_(kernels) {
    for (const char* side : {"host", "device"}) {
      rows_.push_back(
          {graph ? "launch.graph" : "launch.eager", {{"kernels", kernels}}, {{"side", side}}, "us", 0, "measured"});
    }
    stage_ = stage;
  }
  Status Prepare() override {
    gpu_.arena.Reset();
    const Enqueue many = [this](cudaStream_t stream) { return LaunchMany(stream, kernels_); };
    TRY(WarmUp(gpu_, many));
    if (graph_) TRY(window_.Capture(gpu_, many));
    std::vector<double> ignored;
    return Take(&ignored);
  }
  Status Take(std::vector<double>* values) override {
    double host = 0, device = 0;
    const Enqueue work = [&](cudaStream_t stream) -> Status {
      const double begin = HostUs();
      TRY(graph_ ? window_.Launch(stream) : LaunchMany(stream, kernels_));
      host = HostUs() - begin;
      return Ok();
    };
    TRY(TimeHeld(gpu_, work, &device));
    if (graph_) TRY(window_.span().Us(&device));
    values->push_back(graph_ ? host : host / kernels_);
    values->push_back(device / kernels_);
    return Ok();
  }

 private:
  Gpu& gpu_;
  bool graph_;
  int kernels_;
  TimedGraph window_;
};

// Host time of queueing one layer's forward and backward, launch by launch, as this worker's own code queues them: no
// less than a framework's host needs, which also finds memory, checks shapes and runs Python for each.
class LayerLaunch : public Experiment {
 public:
  explicit LayerLaunch(Gpu& gpu) : gpu_(gpu) {
    MoeShape shape = gpu.shape;
    shape.tokens = std::min(shape.tokens, kPairTokens);
    rows_ = {{"launch.layer", RoutedParameters(shape), {{"side", "host"}}, "us", 0, "measured"}};
    stage_ = 1;
  }
  bool checked() const override { return true; }

  Status Prepare() override {
    TRY(pair_.Allocate(gpu_, std::min(20, gpu_.sm_count / 2)));
    return WarmUp(gpu_, [this](cudaStream_t stream) { return pair_.Sequential(stream); });
  }
  Status Take(std::vector<double>* values) override {
    double host = 0, device = 0;
    TRY(TimeHeld(
        gpu_,
        [&](cudaStream_t stream) -> Status {
          const double begin = HostUs();
          TRY(pair_.Sequential(stream));
          host = HostUs() - begin;
          return Ok();
        },
        &device));
    values->push_back(host);
    return Ok();
  }

 private:
  Gpu& gpu_;
  LayerPair pair_;
};

// A chain of small kernels as a scope has them, on activations of few tokens, launched by a host that keeps ahead of
// nothing: what a graph saves a layer.
class Scope : public Experiment {
 public:
  Scope(Gpu& gpu, const char* scope, int kernels) : gpu_(gpu), kernels_(kernels) {
    rows_ = {{"scope.small",
              {{"kernels", kernels}, {"tokens", tokens_}, {"hidden", kHidden}},
              {{"scope", scope}},
              "us",
              0,
              "measured"}};
  }
  Status Prepare() override {
    gpu_.arena.Reset();
    TRY(gpu_.arena.Get(int64_t{tokens_} * kHidden, &in_));
    TRY(gpu_.arena.Get(int64_t{tokens_} * kHidden, &out_));
    TRY(gpu_.arena.Get(kHidden, &weight_));
    TRY(FillBf16(gpu_.stream, in_, int64_t{tokens_} * kHidden, 51, 1));
    TRY(FillFloat(gpu_.stream, weight_, kHidden, 52, 1));
    const Enqueue chain = [this](cudaStream_t stream) { return Chain(stream); };
    TRY(WarmUp(gpu_, chain));
    TRY(graph_.Capture(gpu_, chain));
    std::vector<double> ignored;
    return Take(&ignored);
  }
  Status Take(std::vector<double>* values) override {
    double eager = 0, graph = 0;
    TRY(Unheld([this](cudaStream_t stream) { return Chain(stream); }, &eager));
    TRY(Unheld([this](cudaStream_t stream) { return graph_.Launch(stream); }, &graph));
    values->push_back(std::max(0.0, eager - graph) / turns_);
    return Ok();
  }

 private:
  static constexpr int kHidden = 2048;

  Status Chain(cudaStream_t stream) {
    for (int i = 0; i < kernels_; ++i) TRY(LaunchNorm(stream, in_, weight_, tokens_, kHidden, out_));
    return Ok();
  }
  // Turns back to back while the host launches: what is slower of both shows.
  Status Unheld(const Enqueue& work, double* us) {
    Span span;
    TRY(span.Begin(gpu_.stream));
    for (int i = 0; i < turns_; ++i) TRY(work(gpu_.stream));
    TRY(span.End(gpu_.stream));
    CUDA_TRY(cudaStreamSynchronize(gpu_.stream));
    return span.Us(us);
  }

  Gpu& gpu_;
  int kernels_;
  const int tokens_ = gpu_.check_only ? 3 : 128, turns_ = gpu_.check_only ? 1 : 8;
  Bf16 *in_ = nullptr, *out_ = nullptr;
  float* weight_ = nullptr;
  TimedGraph graph_;
};

class GraphCost : public Experiment {
 public:
  GraphCost(Gpu& gpu, int kernels) : gpu_(gpu), kernels_(kernels) {
    for (const char* step : {"capture", "instantiate", "upload"}) {
      rows_.push_back({"graph.cost", {{"kernels", kernels}}, {{"step", step}}, "us", 0, "measured"});
    }
    stage_ = kernels == kKernels ? 1 : 2;
  }
  Status Prepare() override {
    gpu_.arena.Reset();
    TRY(WarmUp(gpu_, [](cudaStream_t stream) { return LaunchMany(stream); }));
    std::vector<double> ignored;
    return Take(&ignored);
  }
  Status Take(std::vector<double>* values) override {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    const double begin = HostUs();
    CUDA_TRY(cudaStreamBeginCapture(gpu_.stream, cudaStreamCaptureModeThreadLocal));
    const Status launched = LaunchMany(gpu_.stream, kernels_);
    CUDA_TRY(cudaStreamEndCapture(gpu_.stream, &graph));
    TRY(launched);
    const double captured = HostUs();
    CUDA_TRY(cudaGraphInstantiate(&exec, graph, 0));
    const double made = HostUs();
    CUDA_TRY(cudaGraphUpload(exec, gpu_.stream));
    CUDA_TRY(cudaStreamSynchronize(gpu_.stream));
    const double uploaded = HostUs();
    CUDA_TRY(cudaGraphExecDestroy(exec));
    CUDA_TRY(cudaGraphDestroy(graph));
    values->insert(values->end(), {captured - begin, made - captured, uploaded - made});
    return Ok();
  }

 private:
  Gpu& gpu_;
  int kernels_;
};

}  // namespace

Experiments LaunchExperiments(Gpu& gpu) {
  Experiments all;
  all.push_back(std::make_unique<LaunchExperiment>(gpu, /*graph=*/false, kKernels, 0));
  // A graph of a layer has some hundred nodes, one of a whole step thousands.
  for (const int kernels : {kKernels, 64, 1024, 4096}) {
    if (gpu.check_only && kernels > kKernels) continue;
    all.push_back(std::make_unique<LaunchExperiment>(gpu, /*graph=*/true, kernels, kernels == kKernels ? 0 : 1));
  }
  all.push_back(std::make_unique<LayerLaunch>(gpu));
  all.push_back(std::make_unique<Scope>(gpu, "attn", 24));
  all.push_back(std::make_unique<Scope>(gpu, "router", 16));
  all.push_back(std::make_unique<Scope>(gpu, "preprocess", 10));
  for (const int kernels : {kKernels, 64, 1024}) {
    if (gpu.check_only && kernels > kKernels) continue;
    all.push_back(std::make_unique<GraphCost>(gpu, kernels));
  }
  return all;
}

}  // namespace flightplan::probe
