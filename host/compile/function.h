// host/compile/function.h: functions that a region calls, such as exp, where they are not a formula
// of host/compile/operation.h but somebody else's code.
//
// Kernels of ATen compute the last elements of a range one by one, with the C library's function,
// whose bits are others than those of the vectors before: a function has a body and a tail.
#pragma once

#include <array>
#include <cstddef>

#include "host/compile/operation.h"

namespace rtrain::compile {

struct Function {
  using Loop = void (*)(float* out, const float* in, size_t count);  // `out` may be `in`
  Loop body = nullptr;
  Loop tail = nullptr;  // nullptr: the body takes all elements
};

// Where the results of a function of rows are written to.
struct RowResult {
  float* numbers = nullptr;  // rows one after the other, or the number of each
  size_t spread = 0;         // of a pair: the second numbers are this far behind the first
  float* sums = nullptr;     // of kNormPass, if it adds them up: two rows of sums of columns
};

// Computes rows, or numbers of rows. A row that is computed may be in the place of an operand.
using RowFunction = void (*)(RowResult out, const RowOperand* operands, size_t width,
                             size_t num_rows);

class Functions {
  static constexpr size_t kCount =
      static_cast<size_t>(kLastOperation) - static_cast<size_t>(kFirstFunction) + 1;

 public:
  // `granule`: a range of n elements has n % granule elements in its tail.
  explicit Functions(size_t granule) : granule_(granule) {}

  void set(Operation operation, Function function) { table_[index_of(operation)] = function; }
  const Function& at(Operation operation) const { return table_[index_of(operation)]; }
  void set_row(Operation operation, RowFunction function) {
    row_table_[index_of(operation)] = function;
  }
  RowFunction row(Operation operation) const { return row_table_[index_of(operation)]; }
  bool has(Operation operation) const {
    return at(operation).body != nullptr || row(operation) != nullptr;
  }
  size_t granule() const { return granule_; }

 private:
  static constexpr size_t index_of(Operation operation) {
    return static_cast<size_t>(operation) - static_cast<size_t>(kFirstFunction);
  }

  std::array<Function, kCount> table_;
  std::array<RowFunction, kCount> row_table_{};
  size_t granule_ = 1;
};

}  // namespace rtrain::compile
