// Instructions of rows that are joined, and results that are written past the caches, give the same
// numbers.
#include <gtest/gtest.h>

#include "host/compile/tile_program.h"

namespace rtrain::compile {
namespace {

size_t at(int64_t index) { return static_cast<size_t>(index); }

const float* row_of(const RowOperand& operand, size_t row) {
  return operand.numbers + row * operand.stride;
}

// a - 2 · b · Σ a
void log_softmax_backward(float* out, size_t, const RowOperand* operands, size_t width,
                          size_t num_rows) {
  for (size_t row = 0; row < num_rows; ++row) {
    const float* a = row_of(operands[0], row);
    const float* b = row_of(operands[1], row);
    float sum = 0;
    for (size_t i = 0; i < width; ++i) sum += a[i];
    for (size_t i = 0; i < width; ++i) out[row * width + i] = a[i] - 2 * b[i] * sum;
  }
}

void class_backward(float* out, size_t, const RowOperand* operands, size_t width, size_t num_rows) {
  for (size_t row = 0; row < num_rows; ++row) {
    const float* b = row_of(operands[0], row);
    const float column = *row_of(operands[1], row);
    const bool has_class = column >= 0 && column < static_cast<float>(width);
    const float grad = has_class ? *row_of(operands[2], row) : 0;
    for (size_t i = 0; i < width; ++i) {
      const float a = static_cast<float>(i) == column ? grad : 0;
      out[row * width + i] = a - 2 * b[i] * grad;
    }
  }
}

// The result of a region that has rows, its inputs in a vector each.
std::vector<float> run(const Region& region, const Functions& functions,
                       const std::vector<std::vector<float>>& inputs, int64_t cache) {
  const TileProgram program(region, best_simd(), &functions, cache);
  std::vector<const void*> sources;
  for (const std::vector<float>& input : inputs) sources.push_back(input.data());
  std::vector<float> out(at(program.num_elements()));
  void* target = out.data();
  TileProgram::Scratch scratch(program);
  program.run(sources, std::span(&target, 1), {.end = program.num_elements()}, scratch);
  return out;
}

TEST(RowPasses, BackwardOfCrossEntropyIsOnePass) {
  constexpr int64_t kRows = 9;
  constexpr int64_t kWidth = 37;
  Functions without(8);
  without.set_row(Operation::kLogSoftmaxBackward, &log_softmax_backward);
  Functions with = without;
  with.set_row(Operation::kClassBackward, &class_backward);
  Region region;
  region.sizes = {kRows, kWidth};
  region.inputs = {{.strides = {kWidth, 1}}, {.strides = {1, 0}}, {.strides = {0, 0}}};
  const auto input = [](int index) {
    return Operand{.kind = Operand::Kind::kInput, .index = index};
  };
  const Operand index = region.add(Operation::kColumnIndex, {});
  const Operand is_class = region.add(Operation::kEqual, {index, input(1)});
  const Operand grad = region.add(Operation::kSelect, {is_class, input(2), region.add_constant(0)});
  const Operand result = region.add(Operation::kLogSoftmaxBackward, {grad, input(0)});
  region.outputs = {{.from = result, .tensor = {.strides = {kWidth, 1}}}};
  ASSERT_TRUE(region.valid());
  std::vector<std::vector<float>> inputs(3);
  for (int i = 0; i < kRows * kWidth; ++i) inputs[0].push_back(static_cast<float>(i % 11) / 4);
  for (int row = 0; row < kRows; ++row) inputs[1].push_back(static_cast<float>(row * 5 - 10));
  inputs[2] = {-0.375F};
  EXPECT_EQ(TileProgram(region, best_simd(), &with).region().instructions.size(), 1);
  EXPECT_EQ(run(region, with, inputs, 1 << 20), run(region, without, inputs, 1 << 20));
}

TEST(RowPasses, NumbersPastTheCachesAreTheSame) {
  constexpr int64_t kWidth = 37;  // rows begin at any place in a vector
  Region region;
  region.sizes = {301, kWidth};
  region.inputs = {{.strides = {kWidth, 1}}};
  const Operand input{.kind = Operand::Kind::kInput, .index = 0};
  const Operand column = region.add(Operation::kColumnIndex, {});
  const Operand result = region.add(Operation::kSubtract, {input, column});
  region.outputs = {{.from = result, .tensor = {.strides = {kWidth, 1}}}};
  std::vector<std::vector<float>> inputs(1);
  for (int i = 0; i < 301 * kWidth; ++i) inputs[0].push_back(static_cast<float>(i * 7919 % 1009));
  EXPECT_EQ(run(region, Functions(8), inputs, 0), run(region, Functions(8), inputs, 1 << 20));
}

}  // namespace
}  // namespace rtrain::compile
