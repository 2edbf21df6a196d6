// host/engine/tensor/number_list.h: collects numbers, booleans and complex numbers from Lua for a
// tensor.
//
// Keeps them exactly: integers as int64, because a double has only 53 bits, and -0.0 as a double,
// because int64 has no negative zero.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace rtrain::engine {

class NumberList {
 public:
  // `is_lua_number`: true for a Lua number, which gets the default dtype; int64 objects and
  // booleans have their own dtypes.
  void add(const at::Scalar& item, bool is_lua_number);

  // The dtype if none is requested: complex, the default dtype, int64 or bool.
  at::ScalarType own_dtype() const;

  // Makes a CPU tensor. Throws Error(kArgument) if an item does not fit the dtype.
  at::Tensor build(at::IntArrayRef sizes, at::ScalarType wanted) const;

  // Makes int64 indices or a bool mask. Throws Error(kArgument) for other items.
  at::Tensor build_index(at::IntArrayRef sizes) const;

 private:
  void to_complex();
  void check_range(at::ScalarType wanted) const;

  std::vector<double> numbers_;
  std::vector<int64_t> integers_;  // the same numbers, while all are integral
  std::vector<c10::complex<double>> complex_;
  bool exact_ = true;
  bool beyond_int64_ = false;  // a uint64 exceeds int64; integers_ has its bits
  bool any_negative_zero_ = false;
  bool any_number_ = false;
  bool any_boolean_ = false;
  bool any_int64_ = false;
};

}  // namespace rtrain::engine
