// The numbers that libraries.cc and nccl.cc carry, against cublasLt.h and nccl.h where a toolkit has them. Compiled,
// never run.
#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

static_assert(CUBLAS_COMPUTE_32F == 68 && CUDA_R_32F == 0 && CUDA_R_16BF == 14);
static_assert(CUBLASLT_MATMUL_DESC_TRANSA == 3 && CUBLASLT_MATMUL_DESC_TRANSB == 4);
static_assert(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET == 15 && CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES == 1);
static_assert(CUDA_R_8F_E4M3 == 28 && CUBLASLT_MATMUL_DESC_A_SCALE_POINTER == 17 &&
              CUBLASLT_MATMUL_DESC_B_SCALE_POINTER == 18);
#if CUBLAS_VERSION >= 120900
static_assert(CUBLASLT_MATMUL_DESC_A_SCALE_MODE == 31 && CUBLASLT_MATMUL_DESC_B_SCALE_MODE == 32 &&
              CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0 == 2 && CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F == 4 &&
              CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F == 5);
#endif
static_assert(CUBLAS_OP_N == 0 && CUBLAS_OP_T == 1 && CUBLAS_STATUS_SUCCESS == 0);
static_assert(sizeof(cublasLtMatmulAlgo_t) == 64 && sizeof(cublasLtMatmulHeuristicResult_t) == 64 + 8 + 4 + 4 + 16);
#endif
#if __has_include(<nccl.h>)
#include <nccl.h>

static_assert(ncclUint8 == 1 && ncclSuccess == 0);
#endif
