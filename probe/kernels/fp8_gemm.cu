// GEMMs on FP8 operands by cuBLASLt, in the recipes of training: which of them a card has, the library says.
#include "probe/kernels/gemm.cuh"
#include "probe/kernels/shapes.h"

namespace flightplan::probe {
namespace {

// Of activations and of weights.
struct Recipe {
  const char* name;
  Fp8Scales a, b;
};
constexpr Recipe kRecipes[] = {{"tensor", Fp8Scales::kTensor, Fp8Scales::kTensor},
                               {"block128", Fp8Scales::kRow128, Fp8Scales::kSquare128},
                               {"mxfp8", Fp8Scales::kMx32, Fp8Scales::kMx32}};

class Fp8Gemm : public WindowExperiment {
 public:
  Fp8Gemm(Gpu& gpu, const std::string& id, const Recipe& recipe, std::vector<GemmShape> shapes,
          const std::map<std::string, double>& parameters, std::map<std::string, std::string> labels)
      : WindowExperiment(gpu), shapes_(std::move(shapes)) {
    labels["recipe"] = recipe.name;
    labels["path"] = Name(GemmPath::kLibrary);
    double flops = 0;
    for (GemmShape& shape : shapes_) {
      shape.a_scales = recipe.a;
      shape.b_scales = recipe.b;
      flops += shape.Flops();
    }
    SetRow(id, "flops_per_second", flops, parameters, labels);
    stage_ = 2;
  }
  int sample_count() const override { return 9; }

 protected:
  Status Allocate() override {
    TRY(gemms_.Open(gpu_, GemmPath::kLibrary, shapes_));
    return gemms_.AllocateSets(3, &sets_);
  }
  Status Launch(cudaStream_t stream, int set) override { return gemms_.Run(stream, set); }
  Status Check() override { return gemms_.Check(); }

 private:
  std::vector<GemmShape> shapes_;
  Gemms gemms_;
};

}  // namespace

void AddFp8Dense(Gpu& gpu, Experiments* all) {
  const GemmShape shape =
      gpu.check_only ? GemmShape{.m = 400, .n = 272, .k = 384} : GemmShape{.m = 8192, .n = 8192, .k = 8192};
  for (const Recipe& recipe : kRecipes) {
    all->push_back(
        std::make_unique<Fp8Gemm>(gpu, "mm.fp8", recipe, std::vector<GemmShape>{shape},
                                  std::map<std::string, double>{{"rows", shape.m}, {"n", shape.n}, {"k", shape.k}},
                                  std::map<std::string, std::string>{}));
  }
}

// Forward passes; both gradients are GEMMs of the same kind on operands that were cast along their other side.
void AddFp8Experts(Gpu& gpu, Experiments* all) {
  const int experts = gpu.check_only ? 3 : 8, rows = gpu.check_only ? 48 : 1024;
  const int hidden = gpu.check_only ? 384 : gpu.shape.hidden, ffn = gpu.check_only ? 144 : gpu.shape.ffn;
  for (const Recipe& recipe : kRecipes) {
    for (const bool fc1 : {true, false}) {
      const GemmShape shape = {.m = rows, .n = fc1 ? 2 * ffn : hidden, .k = fc1 ? hidden : ffn};
      const std::map<std::string, double> parameters = {
          {"rows", rows}, {"experts", experts}, {"k", shape.k}, {"n", shape.n}};
      all->push_back(std::make_unique<Fp8Gemm>(gpu, "gemm.fp8", recipe,
                                               std::vector<GemmShape>(static_cast<size_t>(experts), shape), parameters,
                                               std::map<std::string, std::string>{{"layer", fc1 ? "fc1" : "fc2"}}));
    }
  }
}

}  // namespace flightplan::probe
