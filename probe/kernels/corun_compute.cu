#include "probe/kernels/corun_compute.cuh"
#include "probe/kernels/elementwise.cuh"

namespace flightplan::probe {

GemmShape Filling(const Gpu& gpu) {
  return gpu.check_only ? GemmShape{.m = 264, .n = 264, .k = 72} : GemmShape{.m = 8192, .n = 4096, .k = 2048};
}

Status CorunCompute::Allocate(Gpu& gpu) {
  shape_ = gpu.shape;
  if (work_ == Work::kElementwise) {
    TRY(gpu.arena.Get(2 * shape_.rows() * shape_.ffn, &in_));
    TRY(gpu.arena.Get(shape_.rows() * shape_.ffn, &out_));
    TRY(gpu.arena.Get(shape_.rows(), &probs_));
    TRY(FillBf16(gpu.stream, in_, 2 * shape_.rows() * shape_.ffn, 81, 1));
    return FillFloat(gpu.stream, probs_, shape_.rows(), 82, 1);
  }
  GemmShape gemm = Filling(gpu);
  if (work_ == Work::kWgrad) {
    gemm = {.m = gpu.check_only ? 136 : 1536,
            .n = gpu.check_only ? 264 : 2048,
            .k = gpu.check_only ? 100 : 16384,
            .a_by_k = true,
            .b_by_k = true,
            .accumulate_fp32 = true};
  }
  TRY(gemms_.Open(gpu, BestPath(gpu), {gemm}));
  TRY(gemms_.AllocateSets(3, &sets_));
  return gemms_.Check();
}

Status CorunCompute::Launch(cudaStream_t stream) {
  if (work_ == Work::kElementwise) return LaunchSwiglu(stream, in_, probs_, shape_.rows(), shape_.ffn, out_);
  return gemms_.Run(stream, turn_++ % sets_);
}

std::vector<RowSpec> CorunRows(const std::map<std::string, double>& parameters, const char* communication, Work work,
                               const char* kind, const std::map<std::string, std::string>& labels) {
  std::map<std::string, std::string> all = {{"communication", communication}, {"compute", Name(work)}};
  all.insert(labels.begin(), labels.end());
  std::vector<RowSpec> rows;
  for (const char* side : {"compute", "communication"}) {
    std::map<std::string, std::string> of_side = all;
    of_side["side"] = side;
    rows.push_back({"corun.matrix", parameters, of_side, "ratio", 0, kind});
  }
  rows.push_back({"corun.lead", parameters, all, "us", 0, kind});
  return rows;
}

}  // namespace flightplan::probe
