#include "host/engine/tensor/number_list.h"

#include <c10/core/DefaultDtype.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/runtime/dtype.h"
#include "host/engine/runtime/negative_zero.h"
#include "host/engine/runtime/recording_listener.h"
#include "host/engine/tensor/empty_tensor.h"

namespace rtrain::engine {
namespace {

template <class T>
at::Tensor filled(at::IntArrayRef sizes, at::ScalarType dtype, const std::vector<T>& items) {
  at::Tensor out = empty_tensor(sizes, at::TensorOptions().dtype(dtype));
  if (!items.empty()) std::memcpy(out.data_ptr(), items.data(), items.size() * sizeof(T));
  if (RecordingListener* listener = RecordingListener::current()) listener->add_constant(out);
  return out;
}

struct Range {
  double low;
  double high;
};

template <class T>
Range range_of() {
  const auto high = static_cast<double>(std::numeric_limits<T>::max());
  // As in PyTorch, negative numbers wrap around in unsigned dtypes.
  return {std::is_signed_v<T> ? static_cast<double>(std::numeric_limits<T>::min()) : -high, high};
}

Range range_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kByte:
      return range_of<uint8_t>();
    case at::kChar:
      return range_of<int8_t>();
    case at::kShort:
      return range_of<int16_t>();
    case at::kInt:
      return range_of<int32_t>();
    case at::kUInt16:
      return range_of<uint16_t>();
    case at::kUInt32:
      return range_of<uint32_t>();
    case at::kUInt64:
      return range_of<uint64_t>();
    default:
      return range_of<int64_t>();
  }
}

}  // namespace

void NumberList::add(const at::Scalar& item, bool is_lua_number) {
  if (item.isBoolean()) {
    any_boolean_ = true;
  } else if (is_lua_number || !item.isIntegral(false)) {
    any_number_ = true;
  } else {
    any_int64_ = true;
  }
  if (item.isComplex() || !complex_.empty()) {
    to_complex();
    complex_.push_back(item.to<c10::complex<double>>());
    return;
  }
  numbers_.push_back(item.to<double>());
  const bool negative_zero = is_negative_zero(item);
  any_negative_zero_ |= negative_zero;
  exact_ = exact_ && (negative_zero || item.isIntegral(true));
  if (!exact_) return;
  if (item.type() == at::kUInt64) {
    const auto bits = static_cast<int64_t>(item.to<uint64_t>());
    beyond_int64_ = beyond_int64_ || bits < 0;
    integers_.push_back(bits);
  } else {
    integers_.push_back(item.to<int64_t>());
  }
}

void NumberList::to_complex() {
  exact_ = false;
  if (!complex_.empty()) return;
  for (const double number : numbers_) complex_.emplace_back(number, 0.0);
}

at::ScalarType NumberList::own_dtype() const {
  if (!complex_.empty()) return c10::toComplexType(c10::get_default_dtype_as_scalartype());
  if (any_int64_ && !any_number_) return at::kLong;
  if (any_boolean_ && !any_number_ && !any_int64_) return at::kBool;
  return c10::get_default_dtype_as_scalartype();
}

void NumberList::check_range(at::ScalarType wanted) const {
  if (!c10::isIntegralType(wanted, false)) return;
  const Range range = range_of(wanted);
  // The limits of 64-bit integers are not doubles: a value that rounds to 2^63 fits only if it is
  // exact.
  const bool wide = c10::elementSize(wanted) == 8;
  if (wide && exact_ && (!beyond_int64_ || wanted == at::kUInt64)) return;
  for (const double number : numbers_) {
    const bool fits = number >= range.low && (wide ? number < range.high : number <= range.high);
    if (!fits) {
      throw Error(Code::kArgument,
                  cat("tensor: ", number, " does not fit the dtype ", dtype_name(wanted)));
    }
  }
}

at::Tensor NumberList::build(at::IntArrayRef sizes, at::ScalarType wanted) const {
  if (!complex_.empty()) {
    if (!c10::isComplexType(wanted)) {
      throw Error(Code::kArgument,
                  cat("tensor: a complex number does not fit the dtype ", dtype_name(wanted)));
    }
    return filled(sizes, at::kComplexDouble, complex_).to(wanted);
  }
  check_range(wanted);
  if (beyond_int64_ && exact_ && wanted == at::kUInt64) {
    return filled(sizes, at::kLong, integers_).view(at::kUInt64);
  }
  const bool has_signs = any_negative_zero_ && !c10::isIntegralType(wanted, true);
  if (exact_ && !beyond_int64_ && !has_signs) return filled(sizes, at::kLong, integers_).to(wanted);
  return filled(sizes, at::kDouble, numbers_).to(wanted);
}

at::Tensor NumberList::build_index(at::IntArrayRef sizes) const {
  if (any_boolean_ && !any_number_ && !any_int64_) return build(sizes, at::kBool);
  if (!exact_ || any_boolean_) {
    throw Error(Code::kArgument, "an index list holds integers alone or booleans alone");
  }
  return build(sizes, at::kLong);
}

}  // namespace rtrain::engine
