// Expert GEMMs over the rows that an expert gets, and the memory-bound kernels around them.
#include <algorithm>
#include <cmath>

#include "probe/kernels/elementwise.cuh"
#include "probe/kernels/gemm.cuh"
#include "probe/kernels/shapes.h"

namespace flightplan::probe {
namespace {

struct Layer {
  const char *id, *layer;  // label, or null
  bool a_by_k, b_by_k, accumulate;
  int m, n, k;  // -1: the rows of an expert
};

// Qwen3-30B-A3B: H 2048, F 768; gate and up projection are one GEMM.
constexpr int kH = 2048, kF = 768, kRows = -1;
constexpr Layer kLayers[] = {
    {"gemm.fc1", nullptr, false, false, false, kRows, 2 * kF, kH},
    {"gemm.fc2", nullptr, false, false, false, kRows, kH, kF},
    {"gemm.dgrad", "fc1", false, true, false, kRows, kH, 2 * kF},
    {"gemm.dgrad", "fc2", false, true, false, kRows, kF, kH},
    {"gemm.wgrad", "fc1", true, true, true, 2 * kF, kH, kRows},
    {"gemm.wgrad", "fc2", true, true, true, kH, kF, kRows},
};
constexpr int kExperts =
    8;  // local ones; more of them change nothing per expert, and would not fit the cap at 8192 rows

GemmShape ShapeOf(const Layer& layer, int rows) {
  const auto size = [&](int s) { return s == kRows ? rows : s; };
  return {.m = size(layer.m),
          .n = size(layer.n),
          .k = size(layer.k),
          .a_by_k = layer.a_by_k,
          .b_by_k = layer.b_by_k,
          .accumulate_fp32 = layer.accumulate};
}

class ExpertGemm : public WindowExperiment {
 public:
  ExpertGemm(Gpu& gpu, GemmPath path, const Layer& layer, int rows, int stage) : WindowExperiment(gpu), path_(path) {
    shapes_.assign(kExperts, ShapeOf(layer, rows));
    std::map<std::string, std::string> labels = {{"path", Name(path)}};
    if (layer.layer != nullptr) labels["layer"] = layer.layer;
    // k and n are those of the layer's forward pass in every row of it.
    const bool fc1 = layer.m == 2 * kF || layer.n == 2 * kF || layer.k == 2 * kF;
    SetRow(layer.id, "flops_per_second", kExperts * shapes_.front().Flops(),
           {{"rows", rows}, {"experts", kExperts}, {"k", fc1 ? kH : kF}, {"n", fc1 ? 2 * kF : kH}}, labels);
    stage_ = stage;
  }
  int sample_count() const override { return 9; }

 protected:
  Status Allocate() override {
    TRY(gemms_.Open(gpu_, path_, shapes_));
    return gemms_.AllocateSets(8, &sets_);
  }
  Status Launch(cudaStream_t stream, int set) override { return gemms_.Run(stream, set); }
  Status Check() override { return gemms_.Check(); }

 private:
  GemmPath path_;
  std::vector<GemmShape> shapes_;
  Gemms gemms_;
};

// fc1 with rows shared out by Zipf's law, over fc1 with equal shares. Both alternate, so that clocks drift for both.
class Skew : public Experiment {
 public:
  Skew(Gpu& gpu, GemmPath path, double zipf) : gpu_(gpu), path_(path), zipf_(zipf) {
    rows_ = {{"gemm.skew",
              {{"zipf", zipf}, {"rows", kMean}, {"experts", kExperts}},
              {{"path", Name(path)}},
              "ratio",
              0,
              "measured"}};
    stage_ = 2;
  }
  bool checked() const override { return true; }
  int sample_count() const override { return 9; }

  Status Prepare() override {
    gpu_.arena.Reset();
    double sum = 0;
    for (int e = 0; e < kExperts; ++e) sum += std::pow(e + 1, -zipf_);
    std::vector<GemmShape> skewed, even(kExperts, ShapeOf(kLayers[0], kMean));
    int left = kMean * kExperts;
    for (int e = 0; e < kExperts; ++e) {
      const int share = static_cast<int>(std::lround(kMean * kExperts * std::pow(e + 1, -zipf_) / sum));
      skewed.push_back(ShapeOf(kLayers[0], e + 1 == kExperts ? left : std::min(left, share)));
      left -= skewed.back().m;
    }
    TRY(PrepareOne(&skewed_, skewed, &skewed_window_));
    return PrepareOne(&even_, even, &even_window_);
  }
  Status Take(std::vector<double>* values) override {
    double skewed = 0, even = 0;
    TRY(skewed_window_.Replay(gpu_, &skewed));
    TRY(even_window_.Replay(gpu_, &even));
    values->push_back(skewed / even);
    return Ok();
  }

 private:
  static constexpr int kMean = 1024, kTurns = 4;

  Status PrepareOne(Gemms* gemms, std::vector<GemmShape> shapes, TimedGraph* window) {
    int sets = 0;
    TRY(gemms->Open(gpu_, path_, std::move(shapes)));
    TRY(gemms->AllocateSets(3, &sets));
    TRY(gemms->Check());
    TRY(window->Capture(gpu_, [&](cudaStream_t stream) -> Status {
      for (int i = 0; i < kTurns * sets; ++i) TRY(gemms->Run(stream, i));
      return Ok();
    }));
    double us = 0;
    return window->Replay(gpu_, &us);
  }

  Gpu& gpu_;
  GemmPath path_;
  double zipf_;
  Gemms skewed_, even_;
  TimedGraph skewed_window_, even_window_;
};

}  // namespace

Experiments ExpertExperiments(Gpu& gpu) {
  Experiments all;
  const MoeShape& shape = gpu.shape;
  all.push_back(MakeElementwise(gpu, Elementwise::kSwiglu, "act.swiglu.fwd", shape));
  all.push_back(MakeElementwise(gpu, Elementwise::kSwigluGrad, "act.swiglu.bwd", shape));
  all.push_back(MakeElementwise(gpu, Elementwise::kNorm, "norm.fwd", shape));
  const GemmPath best = gpu.blas != nullptr ? GemmPath::kLibrary : GemmPath::kOwn;
  for (const int rows : {1024, 256, 4096, 64, 16, 32, 128, 512, 2048, 8192}) {
    if (gpu.check_only && rows > 256) continue;
    const int stage = rows == 1024 ? 0 : rows == 256 || rows == 4096 || rows == 64 ? 1 : 2;
    for (const Layer& layer : kLayers) all.push_back(std::make_unique<ExpertGemm>(gpu, best, layer, rows, stage));
  }
  if (best == GemmPath::kLibrary) {  // the fallback beside the library, where it would be needed
    for (const Layer& layer : kLayers)
      all.push_back(std::make_unique<ExpertGemm>(gpu, GemmPath::kOwn, layer, gpu.check_only ? 200 : 1024, 2));
  }
  for (const double zipf : {0.5, 1.0, 1.5}) all.push_back(std::make_unique<Skew>(gpu, best, zipf));
  return all;
}

}  // namespace flightplan::probe
