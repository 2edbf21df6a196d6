// host/compile/region.h: a Region: operators that work element by element on tensors of one shape,
// or on its rows: the last dimension.
//
// Invariants, which valid() checks: every operand of an instruction is an input, a constant,
// a draw or an earlier instruction that is not a sum of columns; an output is an instruction.
// Outputs cover each element, row or column once.
#pragma once

#include <cstdint>
#include <vector>

#include "host/compile/operation.h"

namespace rtrain::compile {

// Numbers of 16 bits are for kernels. They are computed with as float32.
enum class Type : uint8_t { kFloat32, kBool, kInt64, kFloat16, kBFloat16 };

// Bytes of a number.
int64_t width_of(Type type);
constexpr bool has_16_bits(Type type) { return type == Type::kFloat16 || type == Type::kBFloat16; }

// Of how many numbers an operand consists: of one, of one for each row, of one for each element, or
// of one for each column.
enum class Extent : uint8_t { kSingle, kRow, kFull, kColumn };

// A tensor of the region: its strides in elements, one for each dimension of the region. A stride
// of 0 repeats the elements.
struct RegionTensor {
  Type type = Type::kFloat32;
  std::vector<int64_t> strides;
  // An input may have only the columns from window_begin on: the others are 0. -1: it has all.
  int64_t window_begin = 0;
  int64_t window_width = -1;
  // The rows of an input may begin with this column and go round: what roll() gives.
  int64_t first_column = 0;

  bool has_window() const { return window_width >= 0; }
  bool is_plain() const { return !has_window() && first_column == 0; }
  bool operator==(const RegionTensor&) const = default;
};

// Random numbers between 0 and 1, one for each element: those that ATen's kernel of dropout for
// CUDA draws for a tensor without gaps. One of its threads takes `vector` neighbours at once.
struct Draw {
  int vector = 1;  // 1, 2, 4 or 8
};

struct Operand {
  enum class Kind : uint8_t { kInput, kConstant, kInstruction, kDraw };
  Kind kind = Kind::kInput;
  int index = 0;

  bool operator==(const Operand&) const = default;
};

struct Instruction {
  Operation operation = Operation::kCopy;
  std::vector<Operand> operands;

  bool operator==(const Instruction&) const = default;
};

struct Output {
  Operand from;
  RegionTensor tensor;
  int shared_input = -1;  // the input whose memory it may be
};

struct Region {
  std::vector<int64_t> sizes;
  std::vector<RegionTensor> inputs;
  std::vector<float> constants;
  std::vector<Draw> draws;  // for kernels
  std::vector<Instruction> instructions;
  std::vector<Output> outputs;

  int64_t num_elements() const;
  // Whether some instruction works on rows, or an input has a window or begins with another column.
  bool has_rows() const;
  // The extents of the instructions. What a region without rows computes for each row it computes
  // for each element: all of its instructions are kFull.
  std::vector<Extent> extents() const;
  // The extents that the instructions have as soon as the region has rows.
  std::vector<Extent> extents_with_rows() const;
  Extent extent(const Operand& operand, const std::vector<Extent>& extents) const;
  bool valid() const;
  // Bytes that it reads and writes.
  int64_t num_bytes() const;
  // Adds the instruction, or finds an equal one.
  Operand add(Operation operation, std::vector<Operand> operands);
  Operand add_constant(float value);
  // Removes instructions that no output needs.
  void remove_dead();
  // Joins neighbours that every tensor walks through as one, and drops dimensions of size 1. A row
  // stays a dimension.
  void join_dimensions();
};

}  // namespace rtrain::compile
