// Random regions with rows equal plain loops, bit by bit: numbers for each row, column and element,
// sums of rows and columns, parts of the rows in several runs.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "host/compile/tile_program.h"

namespace rtrain::compile {
namespace {

size_t at(int64_t index) { return static_cast<size_t>(index); }

// Stand for the sums of LibTorch's kernels, whose order is their own.
const float* row_of(const RowOperand& operand, size_t row) {
  return operand.numbers + row * operand.stride;
}

void row_maximum(RowResult out, const RowOperand* operands, size_t width, size_t num_rows) {
  for (size_t row = 0; row < num_rows; ++row) {
    const float* numbers = row_of(operands[0], row);
    out.numbers[row] = *std::max_element(numbers, numbers + width);
  }
}

void reversed(RowResult out, const RowOperand* operands, size_t width, size_t num_rows) {
  for (size_t row = 0; row < num_rows; ++row) {
    const float* numbers = row_of(operands[0], row);
    const std::vector<float> copy(numbers, numbers + width);
    std::copy(copy.rbegin(), copy.rend(), out.numbers + row * width);
  }
}

void row_products(RowResult out, const RowOperand* operands, size_t width, size_t num_rows) {
  for (size_t row = 0; row < num_rows; ++row) {
    const float last = row_of(operands[0], row)[width - 1];
    const float* others = row_of(operands[1], row);
    for (size_t i = 0; i < width; ++i) out.numbers[row * width + i] = last * others[i];
  }
}

void first_and_last(RowResult out, const RowOperand* operands, size_t width, size_t num_rows) {
  for (size_t row = 0; row < num_rows; ++row) {
    out.numbers[row] = row_of(operands[0], row)[0];
    out.numbers[out.spread + row] = row_of(operands[0], row)[width - 1];
  }
}

void norm_dots(RowResult out, const RowOperand* operands, size_t width, size_t num_rows) {
  for (size_t row = 0; row < num_rows; ++row) {
    out.numbers[row] = row_of(operands[0], row)[0] * row_of(operands[1], row)[0];
    out.numbers[out.spread + row] = row_of(operands[2], row)[width - 1];
  }
}

void double_it(float* out, const float* in, size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = 2 * in[i];
}

const Functions& functions() {
  static const Functions kFunctions = [] {
    Functions out(8);
    out.set_row(Operation::kRowMaximum, &row_maximum);
    out.set_row(Operation::kSoftmax, &reversed);
    out.set_row(Operation::kSoftmaxBackward, &row_products);
    out.set_row(Operation::kRowMoments, &first_and_last);
    out.set_row(Operation::kNormDots, &norm_dots);
    out.set(Operation::kExp, {.body = &double_it});
    return out;
  }();
  return kFunctions;
}

// A matrix of numbers; what has one number for each row or column repeats it.
using Matrix = std::vector<std::vector<float>>;

struct Input {
  std::vector<float> memory;
  RegionTensor tensor;
  Matrix numbers;
};

class RowWorld {
 public:
  explicit RowWorld(unsigned seed, bool has_fma) : random_(seed), has_fma_(has_fma) {
    constexpr int64_t kRows[] = {1, 2, 7, 40, 300};
    constexpr int64_t kWidths[] = {2, 5, 64, 100, 700, 3000};
    rows = kRows[draw(5)];
    width = kWidths[draw(rows > 40 ? 3 : 6)];
    region.sizes = {rows, width};
    for (const Extent extent : {Extent::kFull, Extent::kFull, Extent::kRow, Extent::kRow,
                                Extent::kColumn, Extent::kColumn, Extent::kSingle}) {
      add_input(extent);
    }
    region.add_constant(0.75F);
    // All are there, in an order that chance makes.
    add(Operation::kRowMaximum, {any_full()});
    for (int i = 4 + draw(14); i > 0; --i) add_instruction();
    add_outputs();
  }

  int draw(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  float number() { return static_cast<float>(draw(2000) - 1000) / 128; }

  void add_input(Extent extent) {
    Input input;
    const bool walks_rows = extent == Extent::kFull || extent == Extent::kRow;
    const bool walks_columns = extent == Extent::kFull || extent == Extent::kColumn;
    const bool is_turned = extent == Extent::kFull && draw(3) == 0;
    const int64_t gap = draw(3) == 0 ? 2 : 1;
    input.tensor.strides = {walks_rows ? (walks_columns ? width * gap : gap) : 0,
                            walks_columns ? gap : 0};
    if (is_turned) input.tensor.strides = {gap, rows * gap};
    input.memory.resize(at(rows * width * gap + 1));
    for (float& each : input.memory) each = number();
    input.numbers.resize(at(rows), std::vector<float>(at(width)));
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < width; ++c) {
        input.numbers[at(r)][at(c)] =
            input.memory[at(r * input.tensor.strides[0] + c * input.tensor.strides[1])];
      }
    }
    if (extent == Extent::kFull && draw(3) == 0) {
      input.tensor.window_begin = draw(static_cast<int>(width));
      input.tensor.window_width = draw(static_cast<int>(width - input.tensor.window_begin) + 1);
    }
    if (input.tensor.has_window()) {
      put_in_window(input);
    } else if (extent == Extent::kFull && draw(3) == 0) {
      input.tensor.first_column = draw(static_cast<int>(width));
      for (std::vector<float>& row : input.numbers) {
        std::rotate(row.begin(), row.begin() + input.tensor.first_column, row.end());
      }
    }
    region.inputs.push_back(input.tensor);
    inputs.push_back(std::move(input));
  }

  // Moves the first columns into the window.
  void put_in_window(Input& input) const {
    for (std::vector<float>& row : input.numbers) {
      std::vector<float> moved(row.size());
      std::copy_n(row.begin(), input.tensor.window_width,
                  moved.begin() + input.tensor.window_begin);
      row = std::move(moved);
    }
  }

  Operand input(int index) { return {.kind = Operand::Kind::kInput, .index = index}; }
  // Of the extents that the operand may have: any, a number for each element, at most one for each
  // row.
  Operand any() {
    if (draw(6) == 0) return {.kind = Operand::Kind::kConstant, .index = 0};
    return draw(2) == 0 ? input(draw(7))
                        : instruction([](Extent e) { return e != Extent::kColumn; });
  }
  Operand any_full() {
    const Operand found = instruction([](Extent e) { return e == Extent::kFull; });
    const int own[] = {0, 1, 4, 5};
    return draw(2) == 0 || found.kind != Operand::Kind::kInstruction ? input(own[draw(4)]) : found;
  }
  Operand any_row() {
    const Operand found = instruction([](Extent e) { return e == Extent::kRow; });
    const int own[] = {2, 3, 6};
    return draw(2) == 0 || found.kind != Operand::Kind::kInstruction ? input(own[draw(3)]) : found;
  }

  template <class Fits>
  Operand instruction(Fits fits) {
    const std::vector<Extent> extents = region.extents();
    for (int i = 0; i < 20 && !extents.empty(); ++i) {
      const int index = draw(static_cast<int>(extents.size()));
      if (fits(extents[at(index)])) return {.kind = Operand::Kind::kInstruction, .index = index};
    }
    return input(0);
  }

  void add(Operation operation, std::vector<Operand> operands) {
    region.add(operation, std::move(operands));
  }

  void add_instruction() {
    using enum Operation;
    constexpr Operation kChoices[] = {
        kAdd,          kMultiply,        kAddScaled,     kNegate,        kSelect,
        kEqual,        kSpread,          kColumnIndex,   kExp,           kRowMaximum,
        kSoftmax,      kSoftmaxBackward, kRowMoments,    kNormDots,      kNorm,
        kNormBackward, kColumnSum,       kColumnNormDot, kColumnCascade, kSubtractProduct};
    const Operation operation = kChoices[draw(std::size(kChoices))];
    const int num_full = num_full_operands(operation);
    std::vector<Operand> operands;
    for (int i = 0; i < num_operands(operation); ++i) {
      operands.push_back(i < num_full ? any_full() : is_row_loop(operation) ? any_row() : any());
    }
    const Operand made = region.add(operation, operands);
    if (operation != kRowMoments && operation != kNormDots) return;
    region.add(draw(2) == 0 ? kFirst : kSecond, {made});
    is_pair.resize(region.instructions.size());
    is_pair[at(made.index)] = true;
  }

  void add_outputs() {
    const std::vector<Extent> extents = region.extents();
    is_pair.resize(extents.size());
    for (size_t i = 0; i < extents.size(); ++i) {
      const bool is_wanted =
          extents[i] == Extent::kColumn || i + 1 == extents.size() || draw(3) == 0;
      if (!is_wanted || is_pair[i]) continue;
      Output output;
      output.from = {.kind = Operand::Kind::kInstruction, .index = static_cast<int>(i)};
      output.tensor.strides = {width, 1};
      if (extents[i] == Extent::kRow) output.tensor.strides = {1, 0};
      if (extents[i] == Extent::kColumn) output.tensor.strides = {0, 1};
      for (size_t dim = 0; dim < 2; ++dim) {
        if (region.sizes[dim] == 1) output.tensor.strides[dim] = 0;
      }
      region.outputs.push_back(output);
    }
  }

  float fused(float a, float b, float c) const { return has_fma_ ? std::fma(a, b, c) : a * b + c; }

  float element(Operation operation, const std::vector<float>& x, int64_t column) const {
    using enum Operation;
    switch (operation) {
      case kAdd:
        return x[0] + x[1];
      case kMultiply:
        return x[0] * x[1];
      case kAddScaled:
        return fused(x[1], x[2], x[0]);
      case kSubtractProduct:
        return fused(-x[1], x[2], x[0]);
      case kNegate:
        return -x[0];
      case kSelect:
        return x[0] != 0 ? x[1] : x[2];
      case kEqual:
        return x[0] == x[1] ? 1 : 0;
      case kColumnIndex:
        return static_cast<float>(column);
      case kExp:
        return 2 * x[0];
      case kNorm:
        return fused((x[0] - x[3]) * x[4], x[1], x[2]);
      case kNormBackward: {
        const float scaled = x[3] * x[0] * x[1];
        return fused(x[4], x[2], scaled) + x[5];
      }
      default:
        return x[0];
    }
  }

  // The sum of a column as ATen adds it up, for less than 2^16 rows.
  static float cascade_of(const Matrix& numbers, size_t column) {
    constexpr size_t kStep = 16;
    float sums[4] = {};
    size_t row = 0;
    while (row + kStep <= numbers.size()) {
      for (size_t end = row + kStep; row < end; ++row) sums[0] += numbers[row][column];
      size_t count = row;
      for (int level = 1; level < 4; ++level) {
        sums[level] += sums[level - 1];
        sums[level - 1] = 0;
        count /= kStep;
        if (count % kStep != 0) break;
      }
    }
    for (; row < numbers.size(); ++row) sums[0] += numbers[row][column];
    return sums[0] + sums[1] + sums[2] + sums[3];
  }

  // The results of all instructions. A sum of columns covers the rows from `begin` to `end`.
  void compute(int64_t middle) {
    using enum Operation;
    for (const Instruction& instruction : region.instructions) {
      std::vector<const Matrix*> operands;
      const Matrix constant(at(rows), std::vector<float>(at(width), 0.75F));
      for (const Operand& each : instruction.operands) {
        operands.push_back(each.kind == Operand::Kind::kConstant ? &constant
                           : each.kind == Operand::Kind::kInput  ? &inputs[at(each.index)].numbers
                                                                 : &results[at(each.index)]);
      }
      Matrix out(at(rows), std::vector<float>(at(width)));
      Matrix second;
      const Operation operation = instruction.operation;
      if (is_row_function(operation)) {
        second = out;
        for (size_t r = 0; r < at(rows); ++r) {
          RowOperand numbers[3];
          for (size_t i = 0; i < operands.size(); ++i)
            numbers[i].numbers = (*operands[i])[r].data();
          if (is_row_map(operation)) {
            functions().row(operation)({.numbers = out[r].data()}, numbers, at(width), 1);
            continue;
          }
          float pair[2] = {};
          functions().row(operation)({.numbers = pair, .spread = 1}, numbers, at(width), 1);
          std::fill(out[r].begin(), out[r].end(), pair[0]);
          std::fill(second[r].begin(), second[r].end(), pair[1]);
        }
      } else if (operation == kColumnCascade) {
        for (size_t c = 0; c < at(width); ++c) {
          const float sum = cascade_of(*operands[0], c);
          for (size_t r = 0; r < at(rows); ++r) out[r][c] = sum;
        }
      } else if (is_column_sum(operation)) {
        for (size_t c = 0; c < at(width); ++c) {
          float parts[2] = {};
          for (size_t r = 0; r < at(rows); ++r) {
            float& sum = parts[r < at(middle) ? 0 : 1];
            const float a = (*operands[0])[r][c];
            if (operation == kColumnSum) {
              sum += a;
            } else {
              const float b = (*operands[1])[r][c];
              sum = fused(a, fused(b, (*operands[2])[r][c], (*operands[3])[r][c]), sum);
            }
          }
          for (size_t r = 0; r < at(rows); ++r) out[r][c] = 0.0F + parts[0] + parts[1];
        }
      } else if (operation == kSecond) {
        out = seconds[at(instruction.operands[0].index)];
      } else {
        for (size_t r = 0; r < at(rows); ++r) {
          for (size_t c = 0; c < at(width); ++c) {
            std::vector<float> x;
            for (const Matrix* operand : operands) x.push_back((*operand)[r][c]);
            out[r][c] = element(operation, x, static_cast<int64_t>(c));
          }
        }
      }
      results.push_back(std::move(out));
      seconds.push_back(std::move(second));
    }
  }

  int64_t rows = 0;
  int64_t width = 0;
  Region region;
  std::vector<Input> inputs;
  std::vector<Matrix> results;
  std::vector<Matrix> seconds;
  std::vector<bool> is_pair;

 private:
  std::mt19937 random_;
  bool has_fma_ = false;
};

bool has_same_bits(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

void check(unsigned seed, Simd simd) {
  RowWorld world(seed, simd != Simd::kPlain);
  ASSERT_TRUE(world.region.valid()) << seed;
  const int64_t middle = world.rows / 3;
  world.compute(middle);
  Region live = world.region;
  live.remove_dead();
  if (!live.has_rows()) return;
  std::vector<const void*> inputs;
  for (const Input& input : world.inputs) inputs.push_back(input.memory.data());
  std::vector<std::vector<float>> memory(live.outputs.size());
  std::vector<void*> outputs;
  for (std::vector<float>& each : memory) {
    each.resize(at(world.rows * world.width));
    outputs.push_back(each.data());
  }
  const TileProgram program(live, simd, &functions());
  ASSERT_EQ(program.row_width(), world.width);
  std::vector<TileProgram::Scratch> scratch;
  std::vector<float> blocks(program.num_block_sums());
  for (int i = 0; i < 2; ++i) scratch.emplace_back(program);
  program.run(inputs, outputs, {.end = middle * world.width}, scratch[0], blocks);
  program.run(inputs, outputs, {.begin = middle * world.width, .end = world.rows * world.width},
              scratch[1], blocks);
  program.write_column_sums(outputs, scratch, blocks);
  for (size_t k = 0; k < outputs.size(); ++k) {
    const Output& output = world.region.outputs[k];
    for (int64_t r = 0; r < world.rows; ++r) {
      for (int64_t c = 0; c < world.width; ++c) {
        const auto& strides = output.tensor.strides;
        const float got = memory[k][at(r * strides[0] + c * strides[1])];
        const float want = world.results[at(output.from.index)][at(r)][at(c)];
        ASSERT_TRUE(has_same_bits(got, want))
            << "seed " << seed << ", output " << k << " of operation "
            << static_cast<int>(world.region.instructions[at(output.from.index)].operation)
            << ", row " << r << ", column " << c << ": " << got << ", not " << want;
      }
    }
  }
}

TEST(RowProgram, EqualsPlainLoops) {
  for (const Simd simd : {Simd::kPlain, Simd::kAvx2, Simd::kAvx512}) {
    if (simd > best_simd()) continue;
    for (unsigned seed = 0; seed < 40; ++seed) {
      check(seed, simd);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(RowProgram, SaysWhichOperandsAreNotValid) {
  Region region;
  region.sizes = {2, 3};
  region.inputs = {{.strides = {3, 1}}, {.strides = {1, 0}}};
  const Operand full{.kind = Operand::Kind::kInput, .index = 0};
  const Operand row{.kind = Operand::Kind::kInput, .index = 1};
  Region sums_a_row = region;
  sums_a_row.add(Operation::kSoftmax, {row});
  EXPECT_FALSE(sums_a_row.valid());
  Region uses_a_column_sum = region;
  const Operand sum = uses_a_column_sum.add(Operation::kColumnSum, {full});
  EXPECT_TRUE(uses_a_column_sum.valid());
  uses_a_column_sum.add(Operation::kAdd, {full, sum});
  EXPECT_FALSE(uses_a_column_sum.valid());
  Region writes_a_row_everywhere = region;
  const Operand maximum = writes_a_row_everywhere.add(Operation::kRowMaximum, {full});
  writes_a_row_everywhere.outputs = {{.from = maximum, .tensor = {.strides = {3, 1}}}};
  EXPECT_FALSE(writes_a_row_everywhere.valid());
  writes_a_row_everywhere.outputs[0].tensor.strides = {1, 0};
  EXPECT_TRUE(writes_a_row_everywhere.valid());
}

}  // namespace
}  // namespace rtrain::compile
