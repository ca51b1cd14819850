#include "probe/device/libraries.h"

#include <dlfcn.h>

#include <utility>

namespace flightplan::probe {
namespace {

// The part of cublasLt.h that is used; stable since cuBLAS 11, of FP8 since 11.8, of its blocks since 12.8. Checked
// against the header where there is one (device/libraries_header_check.cc).
constexpr int kCompute32F = 68, kReal32F = 0, kRealBf16 = 14, kRealE4m3 = 28;
constexpr int kDescScalePointer[] = {17, 18}, kDescScaleMode[] = {31, 32};  // of the first operand, of the second
constexpr int kDescTransA = 3, kDescTransB = 4, kDescSmCountTarget = 15, kPreferenceWorkspace = 1;
constexpr int kOpN = 0, kOpT = 1;

struct Algorithm {
  uint64_t data[8];
};
struct HeuristicResult {
  Algorithm algorithm;
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

struct Functions {
  int (*create)(void**);
  int (*destroy)(void*);
  size_t (*version)();
  int (*desc_create)(void**, int compute, int scale);
  int (*desc_destroy)(void*);
  int (*desc_set)(void*, int attribute, const void*, size_t);
  int (*layout_create)(void**, int type, uint64_t rows, uint64_t columns, int64_t leading);
  int (*layout_destroy)(void*);
  int (*preference_create)(void**);
  int (*preference_destroy)(void*);
  int (*preference_set)(void*, int attribute, const void*, size_t);
  int (*heuristic)(void*, void*, void*, void*, void*, void*, void*, int, HeuristicResult*, int*);
  int (*matmul)(void*, void*, const void*, const void*, void*, const void*, void*, const void*, const void*, void*,
                void*, void*, const Algorithm*, void*, size_t, void*);
};

template <class Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

bool FindAll(void* library, Functions* f) {
  return Find(library, "cublasLtCreate", &f->create) && Find(library, "cublasLtDestroy", &f->destroy) &&
         Find(library, "cublasLtGetVersion", &f->version) &&
         Find(library, "cublasLtMatmulDescCreate", &f->desc_create) &&
         Find(library, "cublasLtMatmulDescDestroy", &f->desc_destroy) &&
         Find(library, "cublasLtMatmulDescSetAttribute", &f->desc_set) &&
         Find(library, "cublasLtMatrixLayoutCreate", &f->layout_create) &&
         Find(library, "cublasLtMatrixLayoutDestroy", &f->layout_destroy) &&
         Find(library, "cublasLtMatmulPreferenceCreate", &f->preference_create) &&
         Find(library, "cublasLtMatmulPreferenceDestroy", &f->preference_destroy) &&
         Find(library, "cublasLtMatmulPreferenceSetAttribute", &f->preference_set) &&
         Find(library, "cublasLtMatmulAlgoGetHeuristic", &f->heuristic) && Find(library, "cublasLtMatmul", &f->matmul);
}

// In the order of Fp8Scales: cublasLtMatmulMatrixScale_t.
int ScaleMode(Fp8Scales scales) {
  constexpr int kModes[] = {0, 0, 4, 5, 2};
  return kModes[static_cast<int>(scales)];
}

// The library is column-major: it sees our C[m, n] as an n x m matrix, so our B is its first operand.
class LtPlan : public BlasLt::Plan {
 public:
  LtPlan(const Functions& f, void* handle, bool accumulate) : f_(f), handle_(handle), beta_(accumulate ? 1.0f : 0.0f) {}
  ~LtPlan() override {
    for (void* layout : {first_, second_, out_}) {
      if (layout != nullptr) f_.layout_destroy(layout);
    }
    if (desc_ != nullptr) f_.desc_destroy(desc_);
  }

  bool Make(const GemmShape& s) {
    const uint64_t m = static_cast<uint64_t>(s.m), n = static_cast<uint64_t>(s.n), k = static_cast<uint64_t>(s.k);
    const int first_op = s.b_by_k ? kOpN : kOpT, second_op = s.a_by_k ? kOpT : kOpN;
    const int out_type = s.accumulate_fp32 ? kReal32F : kRealBf16;
    const int32_t sms = s.sm_count;
    bool ok = f_.desc_create(&desc_, kCompute32F, kReal32F) == 0 &&
              f_.desc_set(desc_, kDescTransA, &first_op, sizeof first_op) == 0 &&
              f_.desc_set(desc_, kDescTransB, &second_op, sizeof second_op) == 0;
    if (sms > 0) ok = ok && f_.desc_set(desc_, kDescSmCountTarget, &sms, sizeof sms) == 0;
    fp8_ = s.fp8();
    ok = ok && (!fp8_ || (SetScales(0, s.b_scales) && SetScales(1, s.a_scales)));
    const int type = fp8_ ? kRealE4m3 : kRealBf16;
    ok =
        ok && (s.b_by_k ? f_.layout_create(&first_, type, n, k, s.n) : f_.layout_create(&first_, type, k, n, s.k)) == 0;
    ok = ok &&
         (s.a_by_k ? f_.layout_create(&second_, type, m, k, s.m) : f_.layout_create(&second_, type, k, m, s.k)) == 0;
    return ok && f_.layout_create(&out_, out_type, n, m, s.n) == 0 && Choose();
  }

  int Run(BlasLt::Operand a, BlasLt::Operand b, void* c, void* workspace, void* stream) const override {
    const float alpha = 1;
    if (fp8_) {
      const int error = f_.desc_set(desc_, kDescScalePointer[0], &b.scales, sizeof b.scales) |
                        f_.desc_set(desc_, kDescScalePointer[1], &a.scales, sizeof a.scales);
      if (error != 0) return error;
    }
    return f_.matmul(handle_, desc_, &alpha, b.numbers, first_, a.numbers, second_, &beta_, c, out_, c, out_,
                     &algorithm_, workspace, kBlasWorkspaceBytes, stream);
  }

 private:
  // A library that does not know the mode refuses it. The choice of an algorithm asks for the pointers, which it does
  // not follow; Run gives the real ones.
  bool SetScales(int operand, Fp8Scales scales) {
    const int32_t mode = ScaleMode(scales);
    alignas(256) static constexpr char kSomewhere[256] = {};
    const void* const somewhere = kSomewhere;
    return (mode == 0 || f_.desc_set(desc_, kDescScaleMode[operand], &mode, sizeof mode) == 0) &&
           f_.desc_set(desc_, kDescScalePointer[operand], &somewhere, sizeof somewhere) == 0;
  }

  bool Choose() {
    void* preference = nullptr;
    const size_t room = kBlasWorkspaceBytes;
    HeuristicResult result{};
    int found = 0;
    const bool ok = f_.preference_create(&preference) == 0 &&
                    f_.preference_set(preference, kPreferenceWorkspace, &room, sizeof room) == 0 &&
                    f_.heuristic(handle_, desc_, first_, second_, out_, out_, preference, 1, &result, &found) == 0;
    if (preference != nullptr) f_.preference_destroy(preference);
    algorithm_ = result.algorithm;
    return ok && found == 1 && result.state == 0;
  }

  const Functions& f_;
  void* handle_;
  float beta_;
  bool fp8_ = false;
  void *desc_ = nullptr, *first_ = nullptr, *second_ = nullptr, *out_ = nullptr;
  Algorithm algorithm_{};
};

class LoadedBlasLt : public BlasLt {
 public:
  LoadedBlasLt(const Functions& f, void* handle) : f_(f), handle_(handle) {}
  ~LoadedBlasLt() override { f_.destroy(handle_); }
  size_t Version() const override { return f_.version(); }
  std::unique_ptr<Plan> MakePlan(const GemmShape& shape) override {
    auto plan = std::make_unique<LtPlan>(f_, handle_, shape.accumulate_fp32);
    return plan->Make(shape) ? std::move(plan) : nullptr;
  }

 private:
  const Functions f_;
  void* handle_;
};

}  // namespace

std::unique_ptr<BlasLt> BlasLt::Load() {
  void* library = nullptr;
  for (const char* name :
       {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so", "/usr/local/cuda/lib64/libcublasLt.so"}) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  Functions f{};
  void* handle = nullptr;
  if (library == nullptr || !FindAll(library, &f) || f.create(&handle) != 0) return nullptr;
  return std::make_unique<LoadedBlasLt>(f, handle);
}

}  // namespace flightplan::probe
