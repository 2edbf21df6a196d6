// host/engine/tensor/number_list.h: numbers, booleans and complex numbers on their way from Lua
// into a tensor.
//
// Keeps them exactly: integers as int64, since a double holds 53 bits only, and -0.0 as a double,
// since int64 has no such zero.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace rtrain {

class NumberList {
 public:
  // `is_lua_number` is true for a Lua number, whose dtype is the default one; int64 objects and
  // booleans have a dtype of their own.
  void add(const at::Scalar& item, bool is_lua_number);

  // The dtype without one asked for: complex, the default dtype, int64 or bool.
  at::ScalarType own_dtype() const;

  // A tensor on the CPU. Throws Error(kArgument) where an item does not fit the dtype.
  at::Tensor build(at::IntArrayRef sizes, at::ScalarType wanted) const;

  // int64 indices or a bool mask. Throws Error(kArgument) for anything else.
  at::Tensor build_index(at::IntArrayRef sizes) const;

 private:
  void to_complex();
  void check_range(at::ScalarType wanted) const;

  std::vector<double> numbers_;
  std::vector<int64_t> integers_;  // the same, as long as all are integral
  std::vector<c10::complex<double>> complex_;
  bool exact_ = true;
  bool beyond_int64_ = false;  // a uint64 above the largest int64; integers_ has its bits
  bool any_negative_zero_ = false;
  bool any_number_ = false;
  bool any_boolean_ = false;
  bool any_int64_ = false;
};

}  // namespace rtrain
