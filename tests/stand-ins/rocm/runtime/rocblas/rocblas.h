// The little of rocBLAS that an example needs: a matrix product that logs itself as the real one does.
#pragma once
#include "hip/hip_runtime.h"

typedef struct rocblas_handle_* rocblas_handle;
typedef enum { rocblas_operation_none = 111, rocblas_operation_transpose = 112 } rocblas_operation;
typedef enum { rocblas_status_success = 0, rocblas_status_invalid_handle = 1, rocblas_status_invalid_size = 3 } rocblas_status;

extern "C" {
rocblas_status rocblas_create_handle(rocblas_handle* handle);
rocblas_status rocblas_destroy_handle(rocblas_handle handle);
rocblas_status rocblas_set_stream(rocblas_handle handle, hipStream_t stream);
/// Column-major C = alpha * op(A) * op(B) + beta * C.
rocblas_status rocblas_sgemm(rocblas_handle handle, rocblas_operation trans_a, rocblas_operation trans_b, int m, int n, int k,
                             const float* alpha, const float* a, int lda, const float* b, int ldb, const float* beta, float* c, int ldc);
}
