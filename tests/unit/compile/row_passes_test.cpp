// Instructions of rows that are joined, and results that are written past the caches, give the same
// numbers.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "host/compile/tile_program.h"

namespace rtrain::compile {
namespace {

size_t at(int64_t index) { return static_cast<size_t>(index); }

const float* row_of(const RowOperand& operand, size_t row) {
  return operand.numbers + row * operand.stride;
}

// a - 2 · b · Σ a
void log_softmax_backward(RowResult out, const RowOperand* operands, size_t width,
                          size_t num_rows) {
  for (size_t row = 0; row < num_rows; ++row) {
    const float* a = row_of(operands[0], row);
    const float* b = row_of(operands[1], row);
    float sum = 0;
    for (size_t i = 0; i < width; ++i) sum += a[i];
    for (size_t i = 0; i < width; ++i) out.numbers[row * width + i] = a[i] - 2 * b[i] * sum;
  }
}

void class_backward(RowResult out, const RowOperand* operands, size_t width, size_t num_rows) {
  for (size_t row = 0; row < num_rows; ++row) {
    const float* b = row_of(operands[0], row);
    const float column = *row_of(operands[1], row);
    const bool has_class = column >= 0 && column < static_cast<float>(width);
    const float grad = has_class ? *row_of(operands[2], row) : 0;
    for (size_t i = 0; i < width; ++i) {
      const float a = static_cast<float>(i) == column ? grad : 0;
      out.numbers[row * width + i] = a - 2 * b[i] * grad;
    }
  }
}

// Σ a · b · c and Σ a · c
void norm_dots(RowResult out, const RowOperand* operands, size_t width, size_t num_rows) {
  for (size_t row = 0; row < num_rows; ++row) {
    const float* a = row_of(operands[0], row);
    const float* b = row_of(operands[1], row);
    const float* c = row_of(operands[2], row);
    float sums[2] = {};
    for (size_t i = 0; i < width; ++i) sums[0] += a[i] * b[i] * c[i];
    for (size_t i = 0; i < width; ++i) sums[1] += a[i] * c[i];
    out.numbers[row] = sums[0];
    out.numbers[out.spread + row] = sums[1];
  }
}

void norm_pass(RowResult out, const RowOperand* operands, size_t width, size_t num_rows) {
  const Simd simd = best_simd();
  for (size_t row = 0; row < num_rows; ++row) {
    std::array<RowOperand, 5> of_row;
    for (size_t i = 0; i < of_row.size(); ++i) of_row[i].numbers = row_of(operands[i], row);
    const auto& [grad, x, gamma, mean_of_row, rstd_of_row] = of_row;
    float dots[2];
    norm_dots({.numbers = dots, .spread = 1}, of_row.data(), width, 1);
    const float scale = 1.0F / static_cast<float>(width);
    const float mean = *mean_of_row.numbers;
    const float rstd = *rstd_of_row.numbers;
    const auto fused = [&](float a, float b, float c) {
      return simd == Simd::kPlain ? a * b + c : std::fma(a, b, c);
    };
    const float b = fused(dots[1], mean, -dots[0]) * rstd * rstd * rstd * scale;
    const float c = fused(-b, mean, -(dots[1] * rstd * scale));
    const float shift = -rstd * mean;
    const auto number = [](const float& from) { return RowOperand{.numbers = &from}; };
    const RowOperand of_backward[] = {grad, gamma, x, rstd_of_row, number(b), number(c)};
    const RowOperand of_dot[] = {grad, x, rstd_of_row, number(shift)};
    const auto loop = [&](Operation operation) { return row_loop_of(operation, simd); };
    if (out.sums != nullptr) {
      loop(Operation::kColumnNormDot)(out.sums, of_dot, width, 1);
      loop(Operation::kColumnSum)(out.sums + width, &grad, width, 1);
    }
    loop(Operation::kNormBackward)(out.numbers + row * width, of_backward, width, 1);
  }
}

Operand input(int index) { return {.kind = Operand::Kind::kInput, .index = index}; }

// The results of a region that has rows, its inputs in a vector each.
std::vector<std::vector<float>> run(const Region& region, const Functions& functions,
                                    const std::vector<std::vector<float>>& inputs, int64_t cache) {
  const TileProgram program(region, best_simd(), &functions, cache);
  std::vector<const void*> sources;
  for (const std::vector<float>& input : inputs) sources.push_back(input.data());
  std::vector<std::vector<float>> out(region.outputs.size());
  std::vector<void*> targets;
  for (std::vector<float>& each : out) {
    each.resize(at(program.num_elements()));
    targets.push_back(each.data());
  }
  TileProgram::Scratch scratch(program);
  program.run(sources, targets, {.end = program.num_elements()}, scratch);
  program.write_column_sums(targets, std::span(&scratch, 1));
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

// LayerNorm's backward of gradient, x, gamma, mean and rstd.
Region norm_backward(int64_t rows, int64_t width) {
  using enum Operation;
  const RegionTensor full{.strides = {width, 1}};
  const RegionTensor row{.strides = {1, 0}};
  const RegionTensor column{.strides = {0, 1}};
  Region region;
  region.sizes = {rows, width};
  region.inputs = {full, full, column, row, row};
  const auto add = [&](Operation operation, auto... operands) {
    return region.add(operation, {operands...});
  };
  const Operand mean = input(3);
  const Operand rstd = input(4);
  const Operand scale = region.add_constant(1.0F / static_cast<float>(width));
  const Operand dots = add(kNormDots, input(0), input(1), input(2));
  const Operand ds = add(kFirst, dots);
  const Operand db = add(kSecond, dots);
  Operand b = add(kAddScaled, add(kNegate, ds), db, mean);
  for (const Operand& factor : {rstd, rstd, rstd, scale}) b = add(kMultiply, b, factor);
  const Operand part = add(kNegate, add(kMultiply, add(kMultiply, db, rstd), scale));
  const Operand c = add(kSubtractProduct, part, b, mean);
  const Operand shift = add(kMultiply, add(kNegate, rstd), mean);
  region.outputs = {
      {.from = add(kNormBackward, input(0), input(2), input(1), rstd, b, c), .tensor = full},
      {.from = add(kColumnNormDot, input(0), input(1), rstd, shift), .tensor = column},
      {.from = add(kColumnSum, input(0)), .tensor = column}};
  return region;
}

TEST(RowPasses, BackwardOfLayerNormIsOnePass) {
  constexpr int64_t kRows = 41;
  constexpr int64_t kWidth = 37;
  Functions without(8);
  without.set_row(Operation::kNormDots, &norm_dots);
  Functions with = without;
  with.set_row(Operation::kNormPass, &norm_pass);
  std::vector<std::vector<float>> inputs;
  for (const int64_t count : {kRows * kWidth, kRows * kWidth, kWidth, kRows, kRows}) {
    std::vector<float>& numbers = inputs.emplace_back();
    for (int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<float>(i * 7919 % 101) / 32);
  }
  const auto num_joined = [&](const Region& region) {
    EXPECT_TRUE(region.valid());
    EXPECT_EQ(run(region, with, inputs, 1 << 20), run(region, without, inputs, 1 << 20));
    const Region joined = TileProgram(region, best_simd(), &with).region();
    EXPECT_TRUE(joined.valid());
    return joined.instructions.size();
  };
  Region region = norm_backward(kRows, kWidth);
  EXPECT_EQ(num_joined(region), 3);
  region.outputs.resize(1);
  EXPECT_EQ(num_joined(region), 1);
  // Sums over other numbers stay what they are, and so does another formula.
  region = norm_backward(kRows, kWidth);
  region.outputs[2].from = region.add(Operation::kColumnSum, {input(1)});
  region.remove_dead();
  EXPECT_EQ(num_joined(region), 5);
  region.constants[0] = 0.25F;
  EXPECT_EQ(num_joined(region), region.instructions.size());
}

TEST(RowPasses, NumbersPastTheCachesAreTheSame) {
  constexpr int64_t kWidth = 37;  // rows begin at any place in a vector
  Region region;
  region.sizes = {301, kWidth};
  region.inputs = {{.strides = {kWidth, 1}}};
  const Operand column = region.add(Operation::kColumnIndex, {});
  const Operand result = region.add(Operation::kSubtract, {input(0), column});
  region.outputs = {{.from = result, .tensor = {.strides = {kWidth, 1}}}};
  std::vector<std::vector<float>> inputs(1);
  for (int i = 0; i < 301 * kWidth; ++i) inputs[0].push_back(static_cast<float>(i * 7919 % 1009));
  EXPECT_EQ(run(region, Functions(8), inputs, 0), run(region, Functions(8), inputs, 1 << 20));
}

}  // namespace
}  // namespace rtrain::compile
