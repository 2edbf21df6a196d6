#include "tests/unit/compile/random_region.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace rtrain::compile {
namespace {

size_t index_of(int64_t index) { return static_cast<size_t>(index); }

double formula(Operation operation, const std::vector<double>& o) {
  using enum Operation;
  switch (operation) {
    case kNegate:
      return -o[0];
    case kAbsolute:
      return std::abs(o[0]);
    case kReciprocal:
      return 1 / o[0];
    case kRelu:
      return std::max(o[0], 0.0);
    case kAdd:
      return o[0] + o[1];
    case kSubtract:
      return o[0] - o[1];
    case kMultiply:
      return o[0] * o[1];
    case kDivide:
      return o[0] / o[1];
    case kTanhBackward:
      return o[0] * (1 - o[1] * o[1]);
    case kSigmoidBackward:
      return o[0] * (1 - o[1]) * o[1];
    case kSiluBackward:
      return o[0] * o[2] * (1 + o[1] * (1 - o[2]));
    case kGelu:
      return 0.5 * o[0] * (1 + o[1]);
    case kGeluBackward: {
      const double beta = std::sqrt(2 / std::acos(-1.0));
      const double inner = beta * (1 + 3 * 0.044715 * o[1] * o[1]);
      return o[0] * (0.5 * (1 + o[2]) + 0.5 * o[1] * (1 - o[2] * o[2]) * inner);
    }
    case kAddScaled:
      return o[0] + o[1] * o[2];
    case kAddProduct:
      return o[0] + o[3] * o[1] * o[2];
    case kThresholdBackward:
      return o[1] <= o[2] ? 0 : o[0];
    case kGreater:
      return o[0] > o[1] ? 1 : 0;
    case kEqual:
      return o[0] == o[1] ? 1 : 0;
    case kSelect:
      return o[0] != 0 ? o[1] : o[2];
    case kSubtractProduct:
      return o[0] - o[1] * o[2];
    case kExp:
      return std::exp(o[0]);
    case kTanh:
      return std::tanh(o[0]);
    case kErf:
      return std::erf(o[0]);
    case kSin:
      return std::sin(o[0]);
    case kCos:
      return std::cos(o[0]);
    case kSigmoidDivisor:
      return 1 + std::exp(-o[0]);
    case kGeluTanh:
      return std::tanh(std::sqrt(2 / std::acos(-1.0)) * (o[0] + 0.044715 * o[0] * o[0] * o[0]));
    case kNormalShare:
      return (1 + std::erf(o[0] / std::sqrt(2.0))) / 2;
    case kRoundToFloat16:
      return static_cast<double>(narrow::float_of_float16(narrow::float16_of(o[0])));
    case kRoundToBFloat16:
      return static_cast<double>(narrow::float_of_bfloat16(narrow::bfloat16_of(o[0])));
    default:
      return o[0];
  }
}

}  // namespace

RandomRegion::RandomRegion(unsigned seed) : random_(seed) {
  is_narrow_ = chance(40);
  const bool has_rows = chance(60);
  draw_sizes(has_rows);
  const int64_t num_inputs = 2 + draw(4);
  for (int64_t i = 0; i < num_inputs; ++i) add_input(draw_float(), has_rows);
  if (chance(50)) add_input(Type::kBool, has_rows);
  if (chance(30)) add_input(Type::kInt64, has_rows);
  region.add_constant(0.75F);
  region.add_constant(-1.5F);
  region.add_constant(0.0F);
  const int64_t count = 1 + draw(8);
  for (int64_t i = 0; i < count; ++i) {
    if (has_rows && (i == 0 || chance(40))) {
      add_row_operation();
    } else {
      add_formula();
    }
  }
  add_outputs();
}

Type RandomRegion::draw_float() {
  constexpr Type kTypes[] = {Type::kFloat32, Type::kFloat16, Type::kBFloat16};
  return is_narrow_ ? kTypes[draw(3)] : Type::kFloat32;
}

bool RandomRegion::rounds() const {
  const auto rounds = [](const Instruction& instruction) {
    return instruction.operation == Operation::kRoundToFloat16 ||
           instruction.operation == Operation::kRoundToBFloat16;
  };
  return std::ranges::any_of(region.instructions, rounds) ||
         std::ranges::any_of(region.outputs,
                             [](const Output& output) { return has_16_bits(output.tensor.type); });
}

void RandomRegion::draw_sizes(bool has_rows) {
  constexpr int64_t kSizes[] = {1, 1, 2, 3, 4, 5, 8, 12, 17};
  constexpr int64_t kWidths[] = {1, 2, 3, 4, 7, 32, 64, 100, 192, 257, 1024, 1100, 2048, 3001};
  const int64_t dims = draw(4) + (has_rows ? 1 : 0);
  for (int64_t i = 0; i < dims; ++i) region.sizes.push_back(kSizes[draw(std::ssize(kSizes))]);
  if (!has_rows && dims > 0 && chance(50)) region.sizes.back() = 64 * (1 + draw(40));
  if (!has_rows) return;
  region.sizes.back() = kWidths[draw(std::ssize(kWidths))];
  for (size_t i = 0; region.num_elements() > 50000; ++i) region.sizes[i] = 1;
}

// Strides in a random order of dimensions, with gaps; an input may repeat itself.
RegionTensor RandomRegion::draw_layout(bool is_output, Extent extent) {
  RegionTensor out;
  const size_t dims = region.sizes.size();
  out.strides.assign(dims, 0);
  std::vector<size_t> order(dims);
  std::iota(order.begin(), order.end(), 0);
  if (chance(25)) std::ranges::shuffle(order, random_);
  int64_t stride = chance(10) ? 2 : 1;
  for (size_t i = dims; i-- > 0;) {
    const size_t dim = order[i];
    const bool is_last = dim + 1 == dims;
    const bool walks = extent == Extent::kFull || (extent == Extent::kRow && !is_last) ||
                       (extent == Extent::kColumn && is_last);
    if (!walks || (!is_output && chance(15))) continue;
    out.strides[dim] = stride;
    stride *= region.sizes[dim] + (chance(20) ? draw(5) : 0);
  }
  return out;
}

void RandomRegion::add_input(Type type, bool has_rows) {
  constexpr Extent kExtents[] = {Extent::kFull, Extent::kFull,   Extent::kFull,
                                 Extent::kRow,  Extent::kColumn, Extent::kSingle};
  const Extent extent = region.sizes.empty() ? Extent::kSingle : kExtents[draw(6)];
  RegionTensor tensor = draw_layout(false, extent);
  tensor.type = type;
  const int64_t width = region.sizes.empty() ? 1 : region.sizes.back();
  std::vector<int64_t> sizes = region.sizes;
  if (has_rows && extent == Extent::kFull && width > 2 && chance(20)) {
    if (tensor.strides.back() == 0) tensor.strides.back() = 1;
    if (chance(50)) {
      tensor.first_column = 1 + draw(width - 1);
    } else {
      tensor.window_begin = draw(width);
      tensor.window_width = 1 + draw(width - tensor.window_begin);
      sizes.back() = tensor.window_width;
    }
  }
  constexpr int64_t kSkipped[] = {0, 0, 4, 1, 2};
  inputs.emplace_back(tensor, sizes, kSkipped[draw(5)]);
  std::normal_distribution<double> normal(0, 1);
  for (size_t i = 0; i < inputs.back().size(); ++i) {
    const bool is_count = type == Type::kBool || type == Type::kInt64;
    inputs.back().set(i, is_count ? std::floor(2 * std::abs(normal(random_))) : normal(random_));
  }
  region.inputs.push_back(std::move(tensor));
}

Operand RandomRegion::draw_operand(Extent most) {
  const std::vector<Extent> extents = region.extents_with_rows();
  for (;;) {
    Operand out;
    const int64_t kind = draw(10);
    if (kind < 5 && !region.instructions.empty()) {
      out = {.kind = Operand::Kind::kInstruction,
             .index = static_cast<int>(draw(std::ssize(region.instructions)))};
      const Operation operation = region.instructions[index_of(out.index)].operation;
      if (is_column_sum(operation) || operation == Operation::kRowMoments ||
          operation == Operation::kNormDots) {
        continue;
      }
    } else if (kind < 8) {
      out = {.kind = Operand::Kind::kInput,
             .index = static_cast<int>(draw(std::ssize(region.inputs)))};
    } else {
      out = {.kind = Operand::Kind::kConstant, .index = static_cast<int>(draw(2))};
    }
    if (most == Extent::kRow && region.extent(out, extents) > Extent::kRow) {
      out = {.kind = Operand::Kind::kConstant, .index = static_cast<int>(draw(2))};
    }
    return out;
  }
}

Operand RandomRegion::full_operand() {
  Operand out = draw_operand(Extent::kFull);
  if (region.extent(out, region.extents_with_rows()) == Extent::kFull) return out;
  return region.add(Operation::kSpread, {out});
}

void RandomRegion::add_formula() {
  using enum Operation;
  constexpr Operation kFormulas[] = {kNegate,
                                     kAbsolute,
                                     kRelu,
                                     kAdd,
                                     kSubtract,
                                     kMultiply,
                                     kTanhBackward,
                                     kSigmoidBackward,
                                     kSiluBackward,
                                     kGelu,
                                     kGeluBackward,
                                     kAddScaled,
                                     kAddProduct,
                                     kSelect,
                                     kSubtractProduct,
                                     kTanh,
                                     kErf,
                                     kSin,
                                     kCos,
                                     kGeluTanh,
                                     kNormalShare,
                                     kExp,
                                     kDivide,
                                     kGreater,
                                     kEqual,
                                     kCopy};
  const Operation operation = kFormulas[draw(std::ssize(kFormulas))];
  std::vector<Operand> operands;
  const auto tame = [&](const Operand& operand) { return region.add(kTanh, {operand}); };
  for (int i = 0; i < num_operands(operation); ++i) operands.push_back(draw_operand(Extent::kFull));
  // What would grow beyond float32, or turn rounding into another number, has tame operands.
  if (operation == kExp) operands[0] = tame(operands[0]);
  if (operation == kDivide) {
    operands[1] = region.add(kReciprocal, {region.add(kSigmoidDivisor, {tame(operands[1])})});
  }
  if (operation == kGreater || operation == kEqual || operation == kSelect) {
    operands[0] = {.kind = Operand::Kind::kInput,
                   .index = static_cast<int>(draw(std::ssize(region.inputs)))};
  }
  if (operation == kGreater || operation == kEqual) operands[1] = region.add_constant(0.0F);
  Operand result = region.add(operation, operands);
  if (is_narrow_ && chance(50)) {
    const Operand tamed = tame(result);
    result = region.add(chance(50) ? kRoundToFloat16 : kRoundToBFloat16, {tamed});
  }
  if (operation != kGreater && operation != kEqual && chance(50)) tame(result);
}

void RandomRegion::add_row_operation() {
  using enum Operation;
  constexpr Operation kOperations[] = {
      kSoftmax,     kLogSoftmax,   kSoftmaxBackward, kLogSoftmaxBackward,
      kRowMaximum,  kRowSum,       kRowMoments,      kNormDots,
      kNorm,        kNormBackward, kColumnSum,       kColumnNormDot,
      kColumnIndex, kSpread};
  const Operation operation = kOperations[draw(std::ssize(kOperations))];
  const int num_full = num_full_operands(operation);
  std::vector<Operand> operands;
  for (int i = 0; i < num_operands(operation); ++i) {
    const bool is_row = is_row_loop(operation);
    Operand operand =
        i < num_full ? full_operand() : draw_operand(is_row ? Extent::kRow : Extent::kFull);
    operands.push_back(region.add(kTanh, {operand}));
    if (i < num_full) operands.back() = region.add(kTanh, {operand});
  }
  const Operand result = region.add(operation, operands);
  if (operation == kRowMoments || operation == kNormDots) {
    region.add(kFirst, {result});
    region.add(kSecond, {result});
  } else if (operation == kRowSum) {
    region.add(kTanh, {region.add(kMultiply, {result, region.add_constant(0.01F)})});
  } else if (operation == kColumnIndex) {
    region.add(kMultiply, {result, region.add_constant(0.001F)});
  }
}

void RandomRegion::add_outputs() {
  for (size_t i = region.instructions.size(); i-- > 0;) {
    const Operation operation = region.instructions[i].operation;
    if (operation == Operation::kRowMoments || operation == Operation::kNormDots) continue;
    if (!region.outputs.empty() && !is_column_sum(operation) && !chance(25)) continue;
    Output output;
    output.from = {.kind = Operand::Kind::kInstruction, .index = static_cast<int>(i)};
    region.outputs.push_back(std::move(output));
  }
  region.remove_dead();
  const std::vector<Extent> extents = region.extents();
  for (Output& output : region.outputs) {
    output.tensor = draw_layout(true, extents[index_of(output.from.index)]);
    output.tensor.type = draw_float();
    outputs.emplace_back(output.tensor, region.sizes, draw(3));
    for (size_t k = 0; k < outputs.back().size(); ++k) outputs.back().set(k, std::nan(""));
  }
}

std::vector<int64_t> RandomRegion::alignments() const {
  std::vector<int64_t> out;
  for (const TensorMemory& input : inputs) out.push_back(input.alignment());
  for (const TensorMemory& output : outputs) out.push_back(output.alignment());
  return out;
}

int64_t RandomRegion::place(const RegionTensor& tensor, int64_t element) const {
  int64_t out = 0;
  for (size_t dim = region.sizes.size(); dim-- > 0;) {
    out += element % region.sizes[dim] * tensor.strides[dim];
    element /= region.sizes[dim];
  }
  return out;
}

double RandomRegion::number(const Operand& operand, int64_t element,
                            const std::vector<std::vector<double>>& before) const {
  if (operand.kind == Operand::Kind::kConstant) {
    return static_cast<double>(region.constants[index_of(operand.index)]);
  }
  if (operand.kind == Operand::Kind::kInstruction)
    return before[index_of(operand.index)][index_of(element)];
  const RegionTensor& tensor = region.inputs[index_of(operand.index)];
  const TensorMemory& memory = inputs[index_of(operand.index)];
  if (tensor.is_plain()) return memory.at(place(tensor, element));
  const int64_t width = region.sizes.back();
  const int64_t column = element % width;
  const int64_t row = element - column;
  if (tensor.has_window()) {
    const int64_t inside = column - tensor.window_begin;
    const bool is_inside = inside >= 0 && inside < tensor.window_width;
    return is_inside ? memory.at(place(tensor, row) + inside * tensor.strides.back()) : 0;
  }
  return memory.at(place(tensor, row + (column + tensor.first_column) % width));
}

// All results have a number for each element; those of a row or a column repeat it.
std::vector<double> RandomRegion::values(const Instruction& instruction,
                                         const std::vector<std::vector<double>>& before,
                                         const std::vector<std::vector<double>>& second) const {
  using enum Operation;
  const int64_t count = region.num_elements();
  const int64_t width = region.sizes.empty() ? 1 : region.sizes.back();
  const auto of = [&](size_t operand, int64_t element) {
    return number(instruction.operands[operand], element, before);
  };
  const auto each = [&](const std::function<double(int64_t)>& fn) {
    std::vector<double> out;
    for (int64_t i = 0; i < count; ++i) out.push_back(fn(i));
    return out;
  };
  const auto row_sum = [&](int64_t element, const std::function<double(int64_t)>& fn) {
    double out = 0;
    const int64_t begin = element - element % width;
    for (int64_t i = begin; i < begin + width; ++i) out += fn(i);
    return out;
  };
  const auto of_rows = [&](const std::function<double(int64_t)>& fn) {
    std::vector<double> out(index_of(count));
    for (int64_t i = 0; i < count; ++i) {
      out[index_of(i)] = i % width == 0 ? row_sum(i, fn) : out[index_of(i - 1)];
    }
    return out;
  };
  const auto of_columns = [&](const std::function<double(int64_t)>& fn) {
    std::vector<double> sums(index_of(width));
    for (int64_t i = 0; i < count; ++i) sums[index_of(i % width)] += fn(i);
    return each([&](int64_t i) { return sums[index_of(i % width)]; });
  };
  const auto exp = [&](int64_t i) { return std::exp(of(0, i)); };
  const auto product = [&](int64_t i) { return of(0, i) * of(1, i); };
  switch (instruction.operation) {
    case kColumnIndex:
      return each([&](int64_t i) { return static_cast<double>(i % width); });
    case kFirst:
      return before[index_of(instruction.operands[0].index)];
    case kSecond:
      return second[index_of(instruction.operands[0].index)];
    case kSoftmax: {
      const auto sums = of_rows(exp);
      return each([&](int64_t i) { return exp(i) / sums[index_of(i)]; });
    }
    case kLogSoftmax: {
      const auto sums = of_rows(exp);
      return each([&](int64_t i) { return of(0, i) - std::log(sums[index_of(i)]); });
    }
    case kSoftmaxBackward: {
      const auto sums = of_rows(product);
      return each([&](int64_t i) { return of(1, i) * (of(0, i) - sums[index_of(i)]); });
    }
    case kLogSoftmaxBackward: {
      const auto sums = of_rows([&](int64_t i) { return of(0, i); });
      return each([&](int64_t i) { return of(0, i) - std::exp(of(1, i)) * sums[index_of(i)]; });
    }
    case kRowMaximum: {
      std::vector<double> out(index_of(count));
      for (int64_t begin = 0; begin < count; begin += width) {
        double most = of(0, begin);
        for (int64_t i = begin; i < begin + width; ++i) most = std::max(most, of(0, i));
        std::fill_n(out.begin() + begin, width, most);
      }
      return out;
    }
    case kRowSum:
      return of_rows([&](int64_t i) { return of(0, i); });
    case kRowMoments: {
      const auto sums = of_rows([&](int64_t i) { return of(0, i); });
      return each([&](int64_t i) { return sums[index_of(i)] / static_cast<double>(width); });
    }
    case kNormDots:
      return of_rows([&](int64_t i) { return of(0, i) * of(1, i) * of(2, i); });
    case kNorm:
      return each(
          [&](int64_t i) { return (of(0, i) - of(3, i)) * of(4, i) * of(1, i) + of(2, i); });
    case kNormBackward:
      return each([&](int64_t i) {
        return of(3, i) * of(0, i) * of(1, i) + of(4, i) * of(2, i) + of(5, i);
      });
    case kColumnSum:
      return of_columns([&](int64_t i) { return of(0, i); });
    case kColumnNormDot:
      return of_columns([&](int64_t i) { return of(0, i) * (of(1, i) * of(2, i) + of(3, i)); });
    default:
      return each([&](int64_t i) {
        std::vector<double> operands;
        for (size_t k = 0; k < instruction.operands.size(); ++k) operands.push_back(of(k, i));
        return formula(instruction.operation, operands);
      });
  }
}

std::vector<std::vector<double>> RandomRegion::expected() const {
  using enum Operation;
  std::vector<std::vector<double>> all;
  std::vector<std::vector<double>> second(region.instructions.size());
  for (size_t i = 0; i < region.instructions.size(); ++i) {
    const Instruction& instruction = region.instructions[i];
    all.push_back(values(instruction, all, second));
    if (instruction.operation == kNormDots) {
      Instruction other{.operation = kRowSum, .operands = {}};
      std::vector<std::vector<double>> products(1, std::vector<double>(all[i].size()));
      for (size_t k = 0; k < all[i].size(); ++k) {
        const auto element = static_cast<int64_t>(k);
        products[0][k] = number(instruction.operands[0], element, all) *
                         number(instruction.operands[2], element, all);
      }
      other.operands = {{.kind = Operand::Kind::kInstruction, .index = 0}};
      second[i] = values(other, products, second);
    }
    if (instruction.operation == kRowMoments) {
      const Instruction mean{.operation = kRowMoments,
                             .operands = {{.kind = Operand::Kind::kInstruction, .index = 0}}};
      std::vector<std::vector<double>> squares(1, std::vector<double>(all[i].size()));
      for (size_t k = 0; k < all[i].size(); ++k) {
        const double difference =
            number(instruction.operands[0], static_cast<int64_t>(k), all) - all[i][k];
        squares[0][k] = difference * difference;
      }
      second[i] = values(mean, squares, second);
    }
  }
  std::vector<std::vector<double>> out;
  for (const Output& output : region.outputs) out.push_back(all[index_of(output.from.index)]);
  return out;
}

}  // namespace rtrain::compile
