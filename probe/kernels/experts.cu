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
  int m, n, k;  // one of the names below
};

// Gate and up projection are one GEMM, so the first layer is two FFN widths wide.
enum : int { kRows, kH, kF, kF2 };
constexpr Layer kLayers[] = {
    {"gemm.fc1", nullptr, false, false, false, kRows, kF2, kH},
    {"gemm.fc2", nullptr, false, false, false, kRows, kH, kF},
    {"gemm.dgrad", "fc1", false, true, false, kRows, kH, kF2},
    {"gemm.dgrad", "fc2", false, true, false, kRows, kF, kH},
    {"gemm.wgrad", "fc1", true, true, true, kF2, kH, kRows},
    {"gemm.wgrad", "fc2", true, true, true, kH, kF, kRows},
};

// Local ones, eight at most: more of them change nothing per expert, and would not fit at 8192 rows.
int Experts(const Gpu& gpu) { return gpu.check_only ? 3 : std::min(8, gpu.shape.local_experts()); }

GemmShape ShapeOf(const MoeShape& shape, const Layer& layer, int rows) {
  const int sizes[] = {rows, shape.hidden, shape.ffn, 2 * shape.ffn};
  const auto size = [&](int name) { return sizes[name]; };
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
    const int experts = Experts(gpu), h = gpu.shape.hidden, f = gpu.shape.ffn;
    shapes_.assign(static_cast<size_t>(experts), ShapeOf(gpu.shape, layer, rows));
    std::map<std::string, std::string> labels = {{"path", Name(path)}};
    if (layer.layer != nullptr) labels["layer"] = layer.layer;
    // k and n are those of the layer's forward pass in every row of it.
    const bool fc1 = layer.m == kF2 || layer.n == kF2 || layer.k == kF2;
    SetRow(layer.id, "flops_per_second", experts * shapes_.front().Flops(),
           {{"rows", rows}, {"experts", experts}, {"k", fc1 ? h : f}, {"n", fc1 ? 2 * f : h}}, labels);
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
              {{"zipf", zipf}, {"rows", mean_}, {"experts", experts_}},
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
    for (int e = 0; e < experts_; ++e) sum += std::pow(e + 1, -zipf_);
    std::vector<GemmShape> skewed, even(static_cast<size_t>(experts_), ShapeOf(gpu_.shape, kLayers[0], mean_));
    int left = mean_ * experts_;
    for (int e = 0; e < experts_; ++e) {
      const int share = static_cast<int>(std::lround(mean_ * experts_ * std::pow(e + 1, -zipf_) / sum));
      skewed.push_back(ShapeOf(gpu_.shape, kLayers[0], e + 1 == experts_ ? left : std::min(left, share)));
      left -= skewed.back().m;
    }
    TRY(skewed_.Prepare(gpu_, path_, std::move(skewed), kTurns));
    return even_.Prepare(gpu_, path_, std::move(even), kTurns);
  }
  Status Take(std::vector<double>* values) override {
    double skewed = 0, even = 0;
    TRY(skewed_.Replay(gpu_, &skewed));
    TRY(even_.Replay(gpu_, &even));
    values->push_back(skewed / even);
    return Ok();
  }

 private:
  static constexpr int kTurns = 4;

  Gpu& gpu_;
  GemmPath path_;
  double zipf_;
  const int experts_ = Experts(gpu_), mean_ = gpu_.check_only ? 64 : 1024;
  GemmWindow skewed_, even_;
};

}  // namespace

Experiments ExpertExperiments(Gpu& gpu) {
  Experiments all;
  const MoeShape& shape = gpu.shape;
  AddCasts(gpu, &all);
  all.push_back(MakeElementwise(gpu, Elementwise::kSwiglu, "act.swiglu.fwd", shape));
  all.push_back(MakeElementwise(gpu, Elementwise::kSwigluGrad, "act.swiglu.bwd", shape));
  MoeShape many = shape;  // a rate, so over more tokens than one microbatch has: at 8 us a launch would be a part of it
  many.tokens = static_cast<int>(shape.rows());
  all.push_back(MakeElementwise(gpu, Elementwise::kNorm, "norm.fwd", many));
  const GemmPath best = BestPath(gpu);
  for (const int rows : {1024, 256, 4096, 64, 16, 32, 128, 512, 2048, 8192}) {
    if (gpu.check_only && rows != 16 && rows != 256) continue;
    const int stage = rows == 1024 ? 0 : rows == 256 || rows == 4096 || rows == 64 ? 1 : 2;
    for (const Layer& layer : kLayers) all.push_back(std::make_unique<ExpertGemm>(gpu, best, layer, rows, stage));
  }
  // Beside the library, where they would be needed.
  for (const GemmPath path : {GemmPath::kOwn, GemmPath::kTma}) {
    if (path == best) continue;
    for (const Layer& layer : kLayers)
      all.push_back(std::make_unique<ExpertGemm>(gpu, path, layer, gpu.check_only ? 200 : 1024, 3));
  }
  AddFp8Experts(gpu, &all);
  for (const double zipf : {0.5, 1.0, 1.5}) {
    if (gpu.check_only && zipf != 1.5) continue;
    all.push_back(std::make_unique<Skew>(gpu, best, zipf));
  }
  return all;
}

}  // namespace flightplan::probe
