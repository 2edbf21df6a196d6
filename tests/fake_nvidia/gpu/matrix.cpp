// cuBLAS on the simulated device: products of float matrices are computed; all other calls go to
// the real library, which finds no device and refuses them.
#include <cublas_v2.h>

#include "stream.h"

namespace {

struct Handle {
  cudaStream_t stream = nullptr;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_HOST;
};

Handle& of(cublasHandle_t handle) { return *reinterpret_cast<Handle*>(handle); }

// Column-major, as in cuBLAS.
struct Matrix {
  const float* data;
  int stride;
  bool is_transposed;
  float at(int row, int column) const {
    return is_transposed ? data[column + static_cast<long>(row) * stride]
                         : data[row + static_cast<long>(column) * stride];
  }
};

// c = scale * left * right + keep * c
struct Product {
  Matrix left, right;
  float* c;
  int rows, columns, inner, stride;
  float scale, keep;
  void compute() const {
    for (int column = 0; column < columns; ++column) {
      for (int row = 0; row < rows; ++row) {
        float sum = 0;
        for (int i = 0; i < inner; ++i) sum += left.at(row, i) * right.at(i, column);
        float& out = c[row + static_cast<long>(column) * stride];
        out = scale * sum + (keep == 0 ? 0 : keep * out);
      }
    }
  }
};

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = reinterpret_cast<cublasHandle_t>(new Handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete &of(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  of(handle).stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  of(handle).math = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  *mode = of(handle).math;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  of(handle).pointers = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  *mode = of(handle).pointers;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t a_op,
                                         cublasOperation_t b_op, int m, int n, int k,
                                         const float* alpha, const float* a, int a_stride,
                                         long long a_step, const float* b, int b_stride,
                                         long long b_step, const float* beta, float* c,
                                         int c_stride, long long c_step, int count) {
  Product product{{a, a_stride, a_op != CUBLAS_OP_N},
                  {b, b_stride, b_op != CUBLAS_OP_N},
                  c,
                  m,
                  n,
                  k,
                  c_stride,
                  *alpha,
                  *beta};
  fake_gpu::stream_of(of(handle).stream).give([=]() mutable {
    for (int i = 0; i < count; ++i) {
      product.compute();
      product.left.data += a_step;
      product.right.data += b_step;
      product.c += c_step;
    }
  });
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t a_op, cublasOperation_t b_op,
                              int m, int n, int k, const float* alpha, const float* a, int a_stride,
                              const float* b, int b_stride, const float* beta, float* c,
                              int c_stride) {
  return cublasSgemmStridedBatched(handle, a_op, b_op, m, n, k, alpha, a, a_stride, 0, b, b_stride,
                                   0, beta, c, c_stride, 0, 1);
}
}
