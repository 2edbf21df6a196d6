// host/engine/operators/row_product.h: a linear layer of a single row on the CPU.
//
// For one row LibTorch's matrix product reads the weights well below the memory's speed, and a
// language model that writes does little else. The sums are made in another order than
// LibTorch's, so this is done only where a thread asks for it (text's generate).
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace rtrain::engine {

// Whether F.linear of this thread takes row_product where that can compute it. Returns what it was.
bool set_row_products(bool are_taken);
bool takes_row_products_here();

// x · weightᵀ + bias for a float32 row x. Nothing if this thread has not asked for it, or for other
// tensors: they are float32, contiguous and on the CPU, and need no gradient.
std::optional<at::Tensor> row_product(const at::Tensor& x, const at::Tensor& weight,
                                      const std::optional<at::Tensor>& bias);

}  // namespace rtrain::engine
