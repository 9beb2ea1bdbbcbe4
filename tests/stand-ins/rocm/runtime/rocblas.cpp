// rocBLAS's matrix product: a log line when ROCBLAS_LAYER asks for it, then one kernel.
#include "rocblas/rocblas.h"

#include "internal.h"

using namespace hip_stand_in;

struct rocblas_handle_ { hipStream_t stream; };

struct Product { int m, n, k; bool ta, tb; float alpha, beta; const float* a; int lda; const float* b; int ldb; float* c; int ldc; };

/// The real kernels have names of this kind.
extern "C" __attribute__((noinline)) void Cijk_Ailk_Bljk_SB_MT16x16x8_SE_1LDSB0_ISA942(const Product* p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= p->m || j >= p->n) return;
  float sum = 0;
  for (int l = 0; l < p->k; ++l) sum += (p->ta ? p->a[l + i * p->lda] : p->a[i + l * p->lda]) * (p->tb ? p->b[j + l * p->ldb] : p->b[l + j * p->ldb]);
  float& c = p->c[i + j * p->ldc];
  c = p->alpha * sum + (p->beta == 0 ? 0 : p->beta * c);
}

/// One line per call, appended; to stderr when no path is set.
static void log_bench(const Product& p) {
  const char* layer = getenv("ROCBLAS_LAYER");
  if (!layer || !(atoi(layer) & 2)) return;
  const char* path = getenv("ROCBLAS_LOG_BENCH_PATH");
  FILE* out = path && *path ? fopen(path, "a") : stderr;
  if (!out) return;
  fprintf(out, "./rocblas-bench -f gemm -r f32_r --transposeA %c --transposeB %c -m %d -n %d -k %d --alpha %g --lda %d --ldb %d --beta %g --ldc %d\n",
          p.ta ? 'T' : 'N', p.tb ? 'T' : 'N', p.m, p.n, p.k, p.alpha, p.lda, p.ldb, p.beta, p.ldc);
  if (out != stderr) fclose(out);
}

extern "C" {
rocblas_status rocblas_create_handle(rocblas_handle* handle) {
  *handle = new rocblas_handle_{nullptr};
  return rocblas_status_success;
}
rocblas_status rocblas_destroy_handle(rocblas_handle handle) {
  delete handle;
  return rocblas_status_success;
}
rocblas_status rocblas_set_stream(rocblas_handle handle, hipStream_t stream) {
  handle->stream = stream;
  return rocblas_status_success;
}
rocblas_status rocblas_sgemm(rocblas_handle handle, rocblas_operation trans_a, rocblas_operation trans_b, int m, int n, int k,
                             const float* alpha, const float* a, int lda, const float* b, int ldb, const float* beta, float* c, int ldc) {
  if (!handle) return rocblas_status_invalid_handle;
  if (m < 0 || n < 0 || k < 0) return rocblas_status_invalid_size;
  Product p{m, n, k, trans_a == rocblas_operation_transpose, trans_b == rocblas_operation_transpose, *alpha, *beta, a, lda, b, ldb, c, ldc};
  log_bench(p);
  auto body = [p]() { Cijk_Ailk_Bljk_SB_MT16x16x8_SE_1LDSB0_ISA942(&p); };
  submit("hipExtModuleLaunchKernel", dim3((m + 15) / 16, (n + 15) / 16), dim3(16, 16), 0, handle->stream, new Bound<decltype(body)>(body),
         (const void*)Cijk_Ailk_Bljk_SB_MT16x16x8_SE_1LDSB0_ISA942);
  return rocblas_status_success;
}
}
