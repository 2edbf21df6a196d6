#include "host/engine/constructors.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/core/DefaultDtype.h>

#include <cstring>
#include <vector>

#include "host/engine/dtype.h"
#include "host/engine/engine.h"
#include "host/engine/guard.h"
#include "host/engine/scalars.h"
#include "host/engine/tensor.h"

namespace rtrain {
namespace {

// Reads nested lists: the shape from the first items, then every item in order.
class TableReader {
 public:
  explicit TableReader(lua_State* L) : L_(L) {}

  at::Tensor read(int index, std::optional<at::ScalarType> dtype) {
    measure(index);
    visit(index, 0);
    return build(dtype.value_or(own_dtype()));
  }

  at::Tensor read_index(int index) {
    measure(index);
    visit(index, 0);
    if (any_boolean_ && !any_number_ && !any_int64_) return build(at::kBool);
    if (!exact_) throw Error(Code::kArgument, "an index list holds integers or booleans only");
    return build(at::kLong);
  }

 private:
  at::Tensor build(at::ScalarType wanted) const {
    const at::ScalarType stored = exact_             ? at::kLong
                                  : complex_.empty() ? at::kDouble
                                                     : at::kComplexDouble;
    at::Tensor out = at::empty(sizes_, at::TensorOptions().dtype(stored));
    if (stored == at::kLong) {
      copy(out, integers_);
    } else if (stored == at::kDouble) {
      copy(out, numbers_);
    } else {
      copy(out, complex_);
    }
    return out.to(wanted);
  }

  template <class T>
  static void copy(const at::Tensor& out, const std::vector<T>& items) {
    if (!items.empty()) std::memcpy(out.data_ptr(), items.data(), items.size() * sizeof(T));
  }

  at::ScalarType own_dtype() const {
    if (!complex_.empty()) return c10::toComplexType(c10::get_default_dtype_as_scalartype());
    if (any_int64_ && !any_number_) return at::kLong;
    if (any_boolean_ && !any_number_ && !any_int64_) return at::kBool;
    return c10::get_default_dtype_as_scalartype();
  }

  void measure(int index) {
    luaL_checkstack(L_, 8, "too many dimensions");
    if (lua_type(L_, index) != LUA_TTABLE) return;
    sizes_.push_back(static_cast<int64_t>(lua_objlen(L_, index)));
    lua_rawgeti(L_, index, 1);
    measure(lua_gettop(L_));
    lua_pop(L_, 1);
  }

  void visit(int index, size_t depth) {
    const bool is_list = lua_type(L_, index) == LUA_TTABLE;
    if (is_list != (depth < sizes_.size())) ragged(depth);
    if (!is_list) {
      add(index);
      return;
    }
    const auto size = static_cast<int64_t>(lua_objlen(L_, index));
    if (size != sizes_[depth]) ragged(depth);
    for (int i = 1; i <= static_cast<int>(size); ++i) {
      lua_rawgeti(L_, index, i);
      visit(lua_gettop(L_), depth + 1);
      lua_pop(L_, 1);
    }
  }

  [[noreturn]] static void ragged(size_t depth) {
    throw Error(Code::kArgument,
                cat("tensor: the lists at depth ", depth, " have different lengths"));
  }

  std::optional<at::Scalar> scalar(int index) const {
    const at::Tensor* tensor = test_tensor(L_, index);
    if (tensor != nullptr && tensor->defined() && tensor->numel() == 1) return tensor->item();
    return to_scalar(L_, index);
  }

  void add(int index) {
    const auto item = scalar(index);
    if (!item) {
      throw Error(Code::kArgument,
                  cat("tensor: expected numbers or booleans, got ", describe_value(L_, index)));
    }
    const int type = lua_type(L_, index);
    if (item->isBoolean()) {
      any_boolean_ = true;
    } else if (type == LUA_TNUMBER || !item->isIntegral(false)) {
      any_number_ = true;
    } else {
      any_int64_ = true;
    }
    if (item->isComplex() || !complex_.empty()) {
      to_complex();
      complex_.push_back(item->to<c10::complex<double>>());
      return;
    }
    numbers_.push_back(item->to<double>());
    exact_ = exact_ && item->isIntegral(true);
    if (exact_) integers_.push_back(item->to<int64_t>());
  }

  void to_complex() {
    exact_ = false;
    if (!complex_.empty()) return;
    for (const double number : numbers_) complex_.emplace_back(number, 0.0);
  }

  lua_State* L_;
  std::vector<int64_t> sizes_;
  std::vector<double> numbers_;
  std::vector<int64_t>
      integers_;  // the same, as long as all are integral: doubles hold 53 bits only
  std::vector<c10::complex<double>> complex_;
  bool exact_ = true;
  bool any_number_ = false;
  bool any_boolean_ = false;
  bool any_int64_ = false;
};

struct Options {
  std::optional<at::ScalarType> dtype;
  std::optional<c10::Device> device;
  bool requires_grad = false;
};

Options read_options(lua_State* L, int index) {
  static const std::vector<std::string> kNames = {"dtype", "device", "requires_grad", "pin_memory"};
  Options out;
  if (lua_isnoneornil(L, index)) return out;
  luaL_checktype(L, index, LUA_TTABLE);
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    const std::string key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "1";
    if (key == "dtype") {
      out.dtype = parse_dtype(luaL_checkstring(L, -1));
    } else if (key == "device") {
      out.device = parse_device(luaL_checkstring(L, -1));
    } else if (key == "requires_grad") {
      out.requires_grad = lua_toboolean(L, -1) != 0;
    } else if (key != "pin_memory") {
      throw Error(Code::kArgument,
                  cat("tensor: unknown keyword '", key, "'", suggestion(key, kNames)));
    }
    lua_pop(L, 1);
  }
  return out;
}

int push_with_options(lua_State* L, at::Tensor out, const Options& options) {
  if (options.device) out = out.to(*options.device);
  if (options.requires_grad) out.set_requires_grad(true);
  push_tensor(L, std::move(out));
  return 1;
}

// tensor(data, {dtype, device, requires_grad}): data is a number, a boolean, nested lists of these,
// or a tensor (copied).
int tensor(lua_State* L) {
  const Options options = read_options(L, 2);
  if (const at::Tensor* source = test_tensor(L, 1)) {
    const at::Tensor copy = check_tensor(L, 1).detach().clone();
    return push_with_options(L, copy.to(options.dtype.value_or(source->scalar_type())), options);
  }
  return push_with_options(L, tensor_from_table(L, 1, options.dtype), options);
}

// scalar(value, dtype): a 0-dim tensor of that dtype.
int scalar(lua_State* L) {
  const auto value = to_scalar(L, 1);
  if (!value)
    throw Error(Code::kArgument, cat("scalar: expected a number, got ", describe_value(L, 1)));
  const at::ScalarType dtype = lua_isnoneornil(L, 2) ? c10::get_default_dtype_as_scalartype()
                                                     : parse_dtype(luaL_checkstring(L, 2));
  push_tensor(L, at::scalar_tensor(*value, at::TensorOptions().dtype(dtype)));
  return 1;
}

// from_bytes(string, dtype, sizes): the bytes as they lie in memory.
int from_bytes(lua_State* L) {
  size_t size = 0;
  const char* bytes = luaL_checklstring(L, 1, &size);
  const at::ScalarType dtype = parse_dtype(luaL_checkstring(L, 2));
  std::vector<int64_t> sizes;
  const size_t item = c10::elementSize(dtype);
  if (lua_isnoneornil(L, 3)) sizes.push_back(static_cast<int64_t>(size / item));
  for (int i = 1; !lua_isnoneornil(L, 3) && i <= static_cast<int>(lua_objlen(L, 3)); ++i) {
    lua_rawgeti(L, 3, i);
    sizes.push_back(to_int(L, -1).value_or(-1));
    lua_pop(L, 1);
    if (sizes.back() < 0)
      throw Error(Code::kArgument, "from_bytes: sizes must be integers of at least 0");
  }
  at::Tensor out = at::empty(sizes, at::TensorOptions().dtype(dtype));
  if (out.nbytes() != size) {
    throw Error(Code::kArgument,
                cat("from_bytes: ", describe(out), " needs ", out.nbytes(), " bytes, got ", size));
  }
  if (size > 0) std::memcpy(out.data_ptr(), bytes, size);
  push_tensor(L, std::move(out));
  return 1;
}

constexpr Method kFunctions[] = {torch_method<&tensor>("tensor"), torch_method<&scalar>("scalar"),
                                 torch_method<&from_bytes>("from_bytes")};

}  // namespace

at::Tensor tensor_from_table(lua_State* L, int index, std::optional<at::ScalarType> dtype) {
  return TableReader(L).read(index, dtype);
}

at::Tensor tensor_from_index_list(lua_State* L, int index) {
  return TableReader(L).read_index(index);
}

void open_constructors(lua_State* L) {
  for (const Method& f : kFunctions) {
    lua_pushcfunction(L, f.function());
    lua_setfield(L, -2, f.name());
  }
}

}  // namespace rtrain
