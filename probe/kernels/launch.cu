// What starting kernels costs, eagerly and as graphs.
#include "probe/kernels/elementwise.cuh"

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

Status LaunchMany(cudaStream_t stream) {
  for (int i = 0; i < kKernels; ++i) TRY(LaunchShort(stream));
  return Ok();
}

class LaunchExperiment : public Experiment {
 public:
  LaunchExperiment(Gpu& gpu, bool graph) : gpu_(gpu), graph_(graph) {
    for (const char* side : {"host", "device"}) {
      rows_.push_back(
          {graph ? "launch.graph" : "launch.eager", {{"kernels", kKernels}}, {{"side", side}}, "us", 0, "measured"});
    }
  }
  Status Prepare() override {
    gpu_.arena.Reset();
    TRY(WarmUp(gpu_, LaunchMany));
    if (graph_) TRY(window_.Capture(gpu_, LaunchMany));
    std::vector<double> ignored;
    return Take(&ignored);
  }
  Status Take(std::vector<double>* values) override {
    double host = 0, device = 0;
    const Enqueue work = [&](cudaStream_t stream) -> Status {
      const double begin = HostUs();
      TRY(graph_ ? window_.Launch(stream) : LaunchMany(stream));
      host = HostUs() - begin;
      return Ok();
    };
    TRY(TimeHeld(gpu_, work, &device));
    if (graph_) TRY(window_.span().Us(&device));
    values->push_back(graph_ ? host : host / kKernels);
    values->push_back(device / kKernels);
    return Ok();
  }

 private:
  Gpu& gpu_;
  bool graph_;
  TimedGraph window_;
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
  explicit GraphCost(Gpu& gpu) : gpu_(gpu) {
    for (const char* step : {"capture", "instantiate", "upload"}) {
      rows_.push_back({"graph.cost", {{"kernels", kKernels}}, {{"step", step}}, "us", 0, "measured"});
    }
    stage_ = 1;
  }
  Status Prepare() override {
    gpu_.arena.Reset();
    TRY(WarmUp(gpu_, LaunchMany));
    std::vector<double> ignored;
    return Take(&ignored);
  }
  Status Take(std::vector<double>* values) override {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    const double begin = HostUs();
    CUDA_TRY(cudaStreamBeginCapture(gpu_.stream, cudaStreamCaptureModeThreadLocal));
    const Status launched = LaunchMany(gpu_.stream);
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
};

}  // namespace

Experiments LaunchExperiments(Gpu& gpu) {
  Experiments all;
  all.push_back(std::make_unique<LaunchExperiment>(gpu, false));
  all.push_back(std::make_unique<LaunchExperiment>(gpu, true));
  all.push_back(std::make_unique<Scope>(gpu, "attn", 24));
  all.push_back(std::make_unique<Scope>(gpu, "router", 16));
  all.push_back(std::make_unique<Scope>(gpu, "preprocess", 10));
  all.push_back(std::make_unique<GraphCost>(gpu));
  return all;
}

}  // namespace flightplan::probe
