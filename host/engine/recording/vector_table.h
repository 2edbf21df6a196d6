// host/engine/recording/vector_table.h: functions of ATen's vectors for each set of instructions.
#pragma once

#include <cstddef>

#include "host/compile/function.h"

namespace rtrain::engine {

struct VectorTable {
  size_t width = 0;  // numbers in a vector
  compile::Function::Loop exp = nullptr;
  compile::Function::Loop expm1 = nullptr;
  compile::Function::Loop log1p = nullptr;
  compile::Function::Loop sigmoid_divisor = nullptr;
  compile::Function::Loop gelu_tanh = nullptr;
  compile::RowFunction maximum = nullptr;
  compile::RowFunction softmax = nullptr;
  compile::RowFunction log_softmax = nullptr;
  compile::RowFunction softmax_backward = nullptr;
  compile::RowFunction log_softmax_backward = nullptr;
  compile::RowFunction class_backward = nullptr;
  compile::RowFunction norm_dots = nullptr;
  compile::RowFunction norm_pass = nullptr;
  compile::RowFunction moments = nullptr;
  compile::RowFunction sum = nullptr;
  // With an exp whose error is up to 20 units in the last place, and a share with one of 1e-7.
  compile::Function::Loop fast_exp = nullptr;
  compile::Function::Loop fast_normal_share = nullptr;
  compile::RowFunction fast_softmax = nullptr;
  compile::RowFunction fast_log_softmax = nullptr;
  compile::RowFunction fast_log_softmax_backward = nullptr;
  compile::RowFunction fast_class_backward = nullptr;
};

// For processors that have these instructions; nullptr if LibTorch hides what they call.
const VectorTable* avx2_functions();
const VectorTable* avx512_functions();

}  // namespace rtrain::engine
