// Random regions equal plain loops over their elements, bit by bit: sizes with zeros and ones,
// broadcasts, gaps, permuted memory, outputs in the memory of inputs, functions with tails.
#include "host/compile/tile_program.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

namespace rtrain::compile {
namespace {

size_t at(int64_t index) { return static_cast<size_t>(index); }

float fused(float a, float b, float c, bool has_fma) {
  return has_fma ? std::fma(a, b, c) : a * b + c;
}

constexpr size_t kGranule = 8;
// Those that need no rows.
constexpr int kNumOperations = static_cast<int>(kFirstRowFunction);

bool has_tail(Operation operation) { return operation >= Operation::kExpInKernel; }

// Stand for exp and the others: they show which loop took an element.
float function_of(float x, bool is_tail) { return is_tail ? x - 3 : x * 0.5F; }

template <bool kIsTail>
void function_loop(float* out, const float* in, size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = function_of(in[i], kIsTail);
}

const Functions& functions() {
  static const Functions kFunctions = [] {
    Functions out(kGranule);
    for (int i = 0; i < kNumOperations; ++i) {
      const auto operation = static_cast<Operation>(i);
      if (!is_function(operation)) continue;
      out.set(operation, {.body = &function_loop<false>,
                          .tail = has_tail(operation) ? &function_loop<true> : nullptr});
    }
    return out;
  }();
  return kFunctions;
}

// Written apart from the loops. Operands are a, b, c, d.
float expected(Operation operation, const std::vector<float>& x, bool has_fma, bool is_tail) {
  if (is_function(operation)) return function_of(x[0], is_tail && has_tail(operation));
  switch (operation) {
    case Operation::kCopy:
      return x[0];
    case Operation::kNegate:
      return -x[0];
    case Operation::kAbsolute:
      return std::fabs(x[0]);
    case Operation::kReciprocal:
      return 1 / x[0];
    case Operation::kReciprocalRoot:
      return 1 / std::sqrt(x[0]);
    case Operation::kRelu:
      return x[0] < 0 ? 0 : x[0];
    case Operation::kAdd:
      return x[0] + x[1];
    case Operation::kSubtract:
      return x[0] - x[1];
    case Operation::kMultiply:
      return x[0] * x[1];
    case Operation::kDivide:
      return x[0] / x[1];
    case Operation::kTanhBackward:
      return x[0] * fused(-x[1], x[1], 1, has_fma);
    case Operation::kSigmoidBackward:
      return x[0] * (1 - x[1]) * x[1];
    case Operation::kSiluBackward:
      return x[0] * x[2] * fused(x[1], 1 - x[2], 1, has_fma);
    case Operation::kGelu:
      return x[0] * 0.5F * (1 + x[1]);
    case Operation::kGeluBackward: {
      const float tanh_slope = fused(-x[2], x[2], 1, has_fma);
      const float inner_slope = kGeluBeta * fused(3 * kGeluKappa, x[1] * x[1], 1, has_fma);
      const float right = 0.5F * x[1] * tanh_slope * inner_slope;
      return x[0] * (0.5F * (1 + x[2]) + right);
    }
    case Operation::kAddScaled:
      return fused(x[1], x[2], x[0], has_fma);
    case Operation::kAddProduct:
      return fused(x[3] * x[1], x[2], x[0], has_fma);
    case Operation::kAddQuotient: {
      const float product = x[3] * x[1];
      return x[0] + product / x[2];
    }
    case Operation::kThresholdBackward:
      return x[1] <= x[2] ? 0 : x[0];
    case Operation::kGreater:
      return x[0] > x[1] ? 1 : 0;
    case Operation::kEqual:
      return x[0] == x[1] ? 1 : 0;
    case Operation::kSubtractProduct:
      return fused(-x[1], x[2], x[0], has_fma);
    case Operation::kSpread:
      return x[0];
    case Operation::kSelect:
      return x[0] != 0 ? x[1] : x[2];
    default:
      return 0;
  }
}

struct Memory {
  std::vector<float> numbers;
  std::vector<uint8_t> masks;
  int64_t offset = 0;
  bool is_mask = false;

  void* address() {
    return is_mask ? static_cast<void*>(masks.data() + offset)
                   : static_cast<void*>(numbers.data() + offset);
  }
};

class World {
 public:
  explicit World(unsigned seed) : random_(seed) {
    constexpr int64_t kSizes[] = {0, 1, 2, 3, 5, 8, 17, 70};
    const int dims = draw(5);
    for (int i = 0; i < dims; ++i) region.sizes.push_back(kSizes[draw(dims > 3 ? 6 : 8)]);
    if (draw(4) == 0) region.sizes = {draw(5000)};
    for (int i = 1 + draw(4); i > 0; --i) add_input();
    for (int i = draw(3); i > 0; --i) region.add_constant(number());
    for (int i = 1 + draw(12); i > 0; --i) add_instruction();
    for (int i = 1 + draw(3); i > 0; --i) add_output();
  }

  int draw(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  float number() { return static_cast<float>(draw(2000) - 1000) / 128; }

  // Dense strides in a random order of dimensions; some repeat, some leave gaps.
  Memory memory(RegionTensor& tensor, bool may_repeat) {
    std::vector<size_t> order(region.sizes.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (draw(2) == 0) std::shuffle(order.begin(), order.end(), random_);
    tensor.strides.assign(order.size(), 0);
    const int64_t gap = draw(4) == 0 ? 2 : 1;
    int64_t extent = gap;
    for (size_t i = order.size(); i-- > 0;) {
      if (may_repeat && draw(5) == 0) continue;
      tensor.strides[order[i]] = extent;
      extent *= std::max<int64_t>(1, region.sizes[order[i]]);
    }
    if (may_repeat && draw(6) == 0) tensor.strides.assign(order.size(), 0);
    Memory out;
    out.is_mask = tensor.type == Type::kBool;
    out.offset = draw(3);
    out.numbers.resize(at(extent + out.offset + 1));
    for (float& each : out.numbers) each = number();
    out.masks.resize(out.numbers.size());
    for (uint8_t& each : out.masks) each = static_cast<uint8_t>(draw(2));
    return out;
  }

  void add_input() {
    RegionTensor tensor{.type = draw(5) == 0 ? Type::kBool : Type::kFloat32, .strides = {}};
    inputs.push_back(memory(tensor, true));
    region.inputs.push_back(tensor);
  }

  Operand operand() {
    const int instructions = static_cast<int>(region.instructions.size());
    if (instructions > 0 && draw(2) == 0) {
      return {.kind = Operand::Kind::kInstruction, .index = draw(instructions)};
    }
    const int constants = static_cast<int>(region.constants.size());
    if (constants > 0 && draw(4) == 0) {
      return {.kind = Operand::Kind::kConstant, .index = draw(constants)};
    }
    return {.kind = Operand::Kind::kInput, .index = draw(static_cast<int>(region.inputs.size()))};
  }

  void add_instruction() {
    auto operation = static_cast<Operation>(draw(kNumOperations));
    if (needs_rows(operation)) operation = Operation::kCopy;
    std::vector<Operand> operands;
    for (int i = 0; i < num_operands(operation); ++i) operands.push_back(operand());
    region.add(operation, operands);
  }

  void add_output() {
    Output output;
    const int count = static_cast<int>(region.instructions.size());
    output.from = {.kind = Operand::Kind::kInstruction, .index = draw(count)};
    Memory own = memory(output.tensor, false);
    // Sometimes in the memory of an input that covers each element once.
    const int input = draw(static_cast<int>(region.inputs.size()));
    const RegionTensor& shared = region.inputs[at(input)];
    bool can_share = shared.type == Type::kFloat32 && draw(2) == 0;
    for (size_t i = 0; i < region.sizes.size(); ++i) {
      can_share = can_share && (region.sizes[i] <= 1 || shared.strides[i] != 0);
    }
    for (const Output& other : region.outputs) {
      can_share = can_share && other.shared_input != input;
    }
    if (can_share) {
      output.tensor = shared;
      output.shared_input = input;
    }
    outputs.push_back(std::move(own));
    region.outputs.push_back(output);
  }

  int64_t offset_of(const RegionTensor& tensor, int64_t element) const {
    int64_t out = 0;
    for (size_t dim = region.sizes.size(); dim-- > 0;) {
      out += element % region.sizes[dim] * tensor.strides[dim];
      element /= region.sizes[dim];
    }
    return out;
  }

  std::vector<float> computed(int64_t element, bool has_fma, bool is_tail) const {
    std::vector<float> out;
    for (const Instruction& instruction : region.instructions) {
      std::vector<float> operands;
      for (const Operand& each : instruction.operands) {
        if (each.kind == Operand::Kind::kInstruction) operands.push_back(out[at(each.index)]);
        if (each.kind == Operand::Kind::kConstant) {
          operands.push_back(region.constants[at(each.index)]);
        }
        if (each.kind != Operand::Kind::kInput) continue;
        const Memory& from = inputs[at(each.index)];
        const int64_t place = from.offset + offset_of(region.inputs[at(each.index)], element);
        operands.push_back(from.is_mask ? from.masks[at(place)] : from.numbers[at(place)]);
      }
      out.push_back(expected(instruction.operation, operands, has_fma, is_tail));
    }
    return out;
  }

  Region region;
  std::vector<Memory> inputs;
  std::vector<Memory> outputs;

 private:
  std::mt19937 random_;
};

bool has_same_bits(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

// Runs the region in two parts and compares each output with plain loops.
void check(unsigned seed, Simd simd) {
  const bool has_fma = simd != Simd::kPlain;
  World world(seed);
  ASSERT_TRUE(world.region.valid()) << seed;
  const int64_t count = world.region.num_elements();
  std::vector<std::vector<float>> wanted;
  const int64_t middle = count / 2;
  const int64_t third = std::max<int64_t>(1, count / 3);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = i / third * third;
    const int64_t end = std::min(begin + third, count);
    const bool is_tail = end - i <= (end - begin) % static_cast<int64_t>(kGranule);
    wanted.push_back(world.computed(i, has_fma, is_tail));
  }
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (Memory& input : world.inputs) inputs.push_back(input.address());
  for (size_t i = 0; i < world.outputs.size(); ++i) {
    const int shared = world.region.outputs[i].shared_input;
    outputs.push_back(shared < 0 ? world.outputs[i].address() : world.inputs[at(shared)].address());
  }
  Region live = world.region;
  live.remove_dead();
  const TileProgram program(live, simd, &functions());
  TileProgram::Scratch scratch(program);
  // Functions have tails at the end of each third, and of all.
  program.run(inputs, outputs, {.end = middle, .stretch = third}, scratch);
  program.run(inputs, outputs, {.begin = middle, .end = count, .stretch = third}, scratch);
  for (size_t k = 0; k < outputs.size(); ++k) {
    const Output& output = world.region.outputs[k];
    for (int64_t i = 0; i < count; ++i) {
      const float got = static_cast<const float*>(outputs[k])[world.offset_of(output.tensor, i)];
      const float want = wanted[at(i)][at(output.from.index)];
      ASSERT_TRUE(has_same_bits(got, want)) << "seed " << seed << ", output " << k << ", element "
                                            << i << ": " << got << ", not " << want;
    }
  }
}

TEST(TileProgram, EqualsPlainLoops) {
  for (const Simd simd : {Simd::kPlain, Simd::kAvx2, Simd::kAvx512}) {
    if (simd > best_simd()) continue;
    for (unsigned seed = 0; seed < 200; ++seed) {
      check(seed, simd);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(TileProgram, JoinsDimensionsAndReusesRegisters) {
  Region region;
  region.sizes = {4, 1, 8};
  region.inputs = {{.strides = {8, 8, 1}}};
  Operand value{.kind = Operand::Kind::kInput, .index = 0};
  for (int i = 0; i < 9; ++i) {
    value = region.add(i % 2 == 0 ? Operation::kNegate : Operation::kAbsolute, {value});
  }
  region.outputs = {{.from = value, .tensor = {.strides = {8, 8, 1}}}};
  const TileProgram program(region, Simd::kPlain);
  EXPECT_EQ(program.sizes(), std::vector<int64_t>{32});
  EXPECT_EQ(program.num_registers(), 1) << "the last instruction writes to the output";
}

TEST(Region, FindsEqualInstructionsAndRemovesDeadOnes) {
  Region region;
  region.sizes = {2};
  region.inputs = {{.strides = {1}}};
  const Operand input{.kind = Operand::Kind::kInput, .index = 0};
  const Operand two = region.add_constant(2);
  EXPECT_EQ(region.add_constant(2), two);
  EXPECT_NE(region.add_constant(-0.0F), region.add_constant(0.0F));
  const Operand product = region.add(Operation::kMultiply, {input, two});
  EXPECT_EQ(region.add(Operation::kMultiply, {input, two}), product);
  region.add(Operation::kNegate, {input});
  const Operand sum = region.add(Operation::kAdd, {product, input});
  region.outputs = {{.from = sum, .tensor = {.strides = {1}}}};
  ASSERT_TRUE(region.valid());
  region.remove_dead();
  EXPECT_EQ(region.instructions.size(), 2);
  EXPECT_TRUE(region.valid());
}

TEST(Region, SaysWhatIsNotValid) {
  const Operand input{.kind = Operand::Kind::kInput, .index = 0};
  Region region;
  region.sizes = {3};
  region.inputs = {{.strides = {1}}};
  const Operand result = region.add(Operation::kNegate, {input});
  region.outputs = {{.from = result, .tensor = {.strides = {1}}}};
  EXPECT_TRUE(region.valid());
  Region repeats = region;
  repeats.outputs[0].tensor.strides = {0};
  EXPECT_FALSE(repeats.valid());
  Region later = region;
  later.instructions[0].operands = {result};
  EXPECT_FALSE(later.valid());
  Region short_of_operands = region;
  short_of_operands.instructions[0].operation = Operation::kAdd;
  EXPECT_FALSE(short_of_operands.valid());
}

}  // namespace
}  // namespace rtrain::compile
