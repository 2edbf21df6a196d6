#include "host/engine/operators/boxed/arguments.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/Generator.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <cstring>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/operators/boxed/zero_signs.h"
#include "host/engine/runtime/dtype.h"
#include "host/engine/runtime/negative_zero.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/tensor/random.h"
#include "host/engine/tensor/tensor.h"
#include "host/lua/list_items.h"

namespace rtrain::engine {
namespace {

using torch::jit::Stack;

// Maps PyTorch's alternative parameter names to the schema's name.
std::string_view plain_name(std::string_view name) {
  if (name == "input") return "self";
  if (name == "axis") return "dim";
  if (name == "keepdims") return "keepdim";
  return without_reserved_mark(name);
}

bool names(std::string_view keyword, const std::string& param) {
  return keyword == param || plain_name(keyword) == param;
}

template <class T>
bool push_if(const std::optional<T>& number, Stack& stack) {
  if (number) stack.emplace_back(*number);
  return number.has_value();
}

bool push_wrapped(const std::optional<at::Scalar>& number, Stack& stack) {
  if (number) stack.emplace_back(at::native::wrapped_scalar_tensor(*number));
  return number.has_value();
}

// As in PyTorch, a 0-dim tensor that does not require a gradient is accepted as a number.
std::optional<at::Scalar> item_of(const Vm& vm, lua_State* L, int index) {
  const at::Tensor* tensor = test_tensor(vm, L, index);
  if (tensor == nullptr || !tensor->defined() || tensor->dim() != 0 || tensor->requires_grad())
    return std::nullopt;
  return tensor->item();
}

std::optional<int64_t> read_int(const Vm& vm, lua_State* L, int index) {
  if (lua_type(L, index) != LUA_TUSERDATA) return to_int(L, index);
  const auto item = item_of(vm, L, index);
  return item && item->isIntegral(/*includeBool=*/false) ? std::optional(item->toLong())
                                                         : std::nullopt;
}

// Reads an item of a size, stride, padding, … Its range is checked, because kernels compute with
// these without overflow checks.
std::optional<int64_t> read_size(const Vm& vm, lua_State* L, int index) {
  constexpr int64_t kMost = int64_t{1} << 31;
  const auto number = read_int(vm, L, index);
  return number && -kMost <= *number && *number <= kMost ? number : std::nullopt;
}

std::optional<double> read_double(const Vm& vm, lua_State* L, int index) {
  if (lua_type(L, index) != LUA_TUSERDATA) return to_double(L, index);
  const auto item = item_of(vm, L, index);
  return item && !item->isComplex() ? std::optional(item->toDouble()) : std::nullopt;
}

std::optional<at::Scalar> read_scalar(const Vm& vm, lua_State* L, int index) {
  return lua_type(L, index) == LUA_TUSERDATA ? item_of(vm, L, index) : to_scalar(L, index);
}

// Pushes a list made from the table's items by `read`. Returns false if an item does not fit.
template <class T, class Read>
bool push_list(lua_State* L, int table, Stack& stack, Read read) {
  const int size = static_cast<int>(lua_objlen(L, table));
  c10::List<T> out;
  out.reserve(static_cast<size_t>(size));
  for (int i = 1; i <= size; ++i) {
    lua_rawgeti(L, table, i);
    std::optional<T> item = read(lua_gettop(L));
    lua_pop(L, 1);
    if (!item) return false;
    out.push_back(std::move(*item));
  }
  if (!lua::is_list(L, table, size)) return false;
  stack.emplace_back(std::move(out));
  return true;
}

bool push_scalars(lua_State* L, int table, Stack& stack) {
  const int size = static_cast<int>(lua_objlen(L, table));
  c10::impl::GenericList out(c10::NumberType::get());
  for (int i = 1; i <= size; ++i) {
    lua_rawgeti(L, table, i);
    const auto item = to_scalar(L, -1);
    lua_pop(L, 1);
    if (!item) return false;
    out.push_back(c10::IValue(*item));
  }
  if (!lua::is_list(L, table, size)) return false;
  stack.emplace_back(std::move(out));
  return true;
}

// A list "int[3]" must have three items, or one for all of them, or none if that is the default.
// Kernels rely on it.
bool is_length_of(const Param& param, size_t length) {
  const auto size = static_cast<size_t>(param.fixed_size);
  if (size < 2 || length == size || length == 1) return true;
  return length == 0 && param.has_default && param.default_value.isList() &&
         param.default_value.toListRef().empty();
}

template <class T>
void push_repeated(T item, int count, Stack& stack) {
  c10::List<T> out;
  out.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) out.push_back(item);
  stack.emplace_back(std::move(out));
}

}  // namespace

Arguments::Arguments(Vm& vm, lua_State* L) : vm_(vm), L_(L), positional_(lua_gettop(L)) {
  if (positional_ > 0 && lua_type(L, positional_) == LUA_TTABLE) read_keywords();
}

void Arguments::read_keywords() {
  const int table = positional_;
  bool has_items = lua_objlen(L_, table) > 0;
  luaL_checkstack(L_, kMaxKeywords + 8, "too many arguments");
  lua_pushnil(L_);
  while (lua_next(L_, table) != 0) {
    if (lua_type(L_, -2) != LUA_TSTRING) {
      if (keyword_count_ == 0) {  // a list: search the rest only for a name among the items
        has_items = true;
        lua_pop(L_, 1);
        continue;
      }
      throw Error(Code::kArgument, "the last argument has list items as well as keywords");
    }
    if (has_items)
      throw Error(Code::kArgument, "the last argument has list items as well as keywords");
    if (keyword_count_ == kMaxKeywords) throw Error(Code::kArgument, "too many keywords");
    // The table keeps the name alive. The value stays on the stack below the next key.
    keywords_[keyword_count_++] = {lua_tostring(L_, -2), lua_gettop(L_) - 1};
    lua_insert(L_, -2);
  }
  ends_with_empty_table_ = keyword_count_ == 0 && !has_items;
  if (keyword_count_ > 0 || ends_with_empty_table_) --positional_;
}

bool Arguments::take_empty_table() {
  if (!ends_with_empty_table_) return false;
  ends_with_empty_table_ = false;
  ++positional_;
  return true;
}

bool Arguments::is_none(int index) const {
  return index == 0 || lua_isnil(L_, index) || lua_touserdata(L_, index) == vm_.none;
}

uint64_t Arguments::kinds() const {
  uint64_t key = 0xcbf29ce484222325u;
  const auto mix = [&key](uint64_t item) { key = (key ^ item) * 0x100000001b3u; };
  const auto kind = [this](int index) -> uint64_t {
    const int type = lua_type(L_, index);
    if (type == LUA_TNUMBER) return is_integral(lua_tonumber(L_, index)) ? 20 : 21;
    if (type == LUA_TUSERDATA) return test_tensor(vm_, L_, index) != nullptr ? 22 : 23;
    if (type != LUA_TTABLE) return static_cast<uint64_t>(type);
    lua_rawgeti(L_, index, 1);
    const int first = lua_type(L_, -1);
    lua_pop(L_, 1);
    return 32 + static_cast<uint64_t>(first);
  };
  for (int i = 1; i <= positional_; ++i) mix(kind(i));
  uint64_t keywords = 0;  // summed, because a table has no order
  for (int i = 0; i < keyword_count_; ++i) {
    uint64_t name = kind(keywords_[i].index) + 1;
    for (const char* c = keywords_[i].name; *c != 0; ++c)
      name = (name ^ static_cast<uint64_t>(*c)) * 0x9e3779b97f4a7c15u;
    keywords += name;
  }
  mix(keywords);
  return key;
}

bool Arguments::takes_varargs(const Overload& overload) const {
  if (overload.varargs < 0 || positional_ <= overload.varargs) return false;
  for (int i = overload.varargs + 1; i <= positional_; ++i) {
    const int type = lua_type(L_, i);
    if (type != LUA_TNUMBER && type != lua::kCdata) return false;
  }
  return true;
}

Arguments::Fit Arguments::assign(const Overload& overload, Slots& slots,
                                 const Keyword** culprit) const {
  slots.gathered = takes_varargs(overload);
  const int given = slots.gathered ? overload.varargs + 1 : positional_;
  if (given > static_cast<int>(overload.positional)) return Fit::kTooMany;
  const size_t count = overload.params.size() - overload.outs;
  for (size_t i = 0; i < count; ++i)
    slots.index[i] = static_cast<int>(i) < given ? static_cast<int>(i) + 1 : 0;
  if (overload.outs == 1 && overload.params[count].kind == Kind::kTensorList) {
    slots.index[count] = out_;
  } else if (outs_.size() == overload.outs) {
    std::ranges::copy(outs_, slots.index + count);
  } else {
    return Fit::kOuts;
  }
  for (int k = 0; k < keyword_count_; ++k) {
    *culprit = &keywords_[k];
    size_t i = 0;
    while (i < count && !names(keywords_[k].name, overload.params[i].name)) ++i;
    if (i == count) return Fit::kUnknownKeyword;
    if (slots.index[i] != 0) return Fit::kGivenTwice;
    slots.index[i] = keywords_[k].index;
  }
  return Fit::kOk;
}

bool Arguments::gather(int first, Stack& stack) const {
  c10::List<int64_t> out;
  out.reserve(static_cast<size_t>(positional_ - first) + 1);
  for (int i = first; i <= positional_; ++i) {
    const auto item = to_int(L_, i);
    if (!item) return false;
    out.push_back(*item);
  }
  stack.emplace_back(std::move(out));
  return true;
}

bool Arguments::bind(const Overload& overload, Stack& stack) const {
  Slots slots;
  bool any_negative_zero = false;
  const Keyword* culprit = nullptr;
  if (assign(overload, slots, &culprit) != Fit::kOk) return false;
  const size_t count = overload.params.size();
  for (size_t i = 0; i < count; ++i) {
    const Param& param = overload.params[i];
    const int index = slots.index[i];
    bool fits = false;
    if (slots.gathered && static_cast<int>(i) == overload.varargs) {
      fits = gather(index, stack);
    } else if (is_none(index)) {
      // nil counts as None only if the caller wrote it out and the parameter may be None.
      if (param.has_default && (index == 0 || !param.optional)) {
        stack.push_back(param.default_value);
        fits = true;
      } else if (param.optional) {
        stack.emplace_back();
        fits = true;
      }
    } else {
      fits = convert(index, param, stack);
      any_negative_zero |=
          lua_type(L_, index) == LUA_TNUMBER && is_negative_zero(lua_tonumber(L_, index));
    }
    if (!fits) {
      stack.clear();
      return false;
    }
  }
  if (any_negative_zero && all_integers(overload, stack)) clear_signs(overload, stack);
  return true;
}

bool Arguments::convert(int index, const Param& param, Stack& stack) const {
  const int type = lua_type(L_, index);
  switch (param.kind) {
    case Kind::kTensor: {
      const at::Tensor* tensor = test_tensor(vm_, L_, index);
      if (tensor == nullptr) return param.takes_number && push_wrapped(to_scalar(L_, index), stack);
      if (!tensor->defined())
        throw Error(Code::kArgument, cat("argument '", param.shown, "' was released"));
      stack.emplace_back(*tensor);
      return true;
    }
    case Kind::kInt:
      return push_if(read_int(vm_, L_, index), stack);
    case Kind::kFloat:
      return push_if(read_double(vm_, L_, index), stack);
    case Kind::kScalar:
      return push_if(read_scalar(vm_, L_, index), stack);
    case Kind::kReduction: {
      const auto number = to_int(L_, index);
      if (!number || *number < 0 || *number > 2) return false;
      stack.emplace_back(*number);
      return true;
    }
    case Kind::kBool:
      if (type != LUA_TBOOLEAN) return false;
      stack.emplace_back(lua_toboolean(L_, index) != 0);
      return true;
    case Kind::kGenerator: {
      const at::Generator* generator = test_generator(L_, index);
      if (generator == nullptr) return false;
      stack.emplace_back(*generator);
      return true;
    }
    default:
      if (type == LUA_TSTRING) return convert_string(lua_tostring(L_, index), param, stack);
      if (type == LUA_TTABLE) return convert_table(index, param, stack);
      return convert_repeated(index, param, stack);
  }
}

bool Arguments::convert_string(const char* text, const Param& param, Stack& stack) const {
  const auto push = [&stack](const auto& found) {
    if (found) stack.emplace_back(*found);
    return found.has_value();
  };
  const auto push_enum = [&stack](const auto& found) {
    if (found) stack.emplace_back(static_cast<int64_t>(*found));
    return found.has_value();
  };
  switch (param.kind) {
    case Kind::kString:
      stack.emplace_back(std::string(text));
      return true;
    case Kind::kDtype:
      return push_enum(dtype_from_name(text));
    case Kind::kLayout:
      return push_enum(layout_from_name(text));
    case Kind::kMemoryFormat:
      return push_enum(memory_format_from_name(text));
    case Kind::kDevice:
      return push(device_from_name(text));
    default:
      return false;
  }
}

// One number stands for all entries of a list of fixed size.
bool Arguments::convert_repeated(int index, const Param& param, Stack& stack) const {
  if (param.fixed_size == 0) return false;
  if (param.kind == Kind::kIntList) {
    const auto number = read_size(vm_, L_, index);
    if (number) push_repeated(*number, param.fixed_size, stack);
    return number.has_value();
  }
  if (param.kind == Kind::kFloatList) {
    const auto number = read_double(vm_, L_, index);
    if (number) push_repeated(*number, param.fixed_size, stack);
    return number.has_value();
  }
  if (param.kind != Kind::kBoolList || lua_type(L_, index) != LUA_TBOOLEAN) return false;
  push_repeated(lua_toboolean(L_, index) != 0, param.fixed_size, stack);
  return true;
}

bool Arguments::convert_table(int index, const Param& param, Stack& stack) const {
  const auto read_tensor = [this](int item) -> std::optional<at::Tensor> {
    const at::Tensor* tensor = test_tensor(vm_, L_, item);
    if (tensor == nullptr || !tensor->defined()) return std::nullopt;
    return *tensor;
  };
  if (!is_length_of(param, lua_objlen(L_, index))) return false;
  switch (param.kind) {
    case Kind::kIntList:
      return push_list<int64_t>(L_, index, stack, [&](int item) {
        return param.fixed_size > 0 ? read_size(vm_, L_, item) : read_int(vm_, L_, item);
      });
    case Kind::kFloatList:
      return push_list<double>(L_, index, stack,
                               [this](int item) { return read_double(vm_, L_, item); });
    case Kind::kBoolList:
      return push_list<bool>(L_, index, stack, [this](int item) -> std::optional<bool> {
        if (lua_type(L_, item) != LUA_TBOOLEAN) return std::nullopt;
        return lua_toboolean(L_, item) != 0;
      });
    case Kind::kScalarList:
      return push_scalars(L_, index, stack);
    case Kind::kTensorList:
      return push_list<at::Tensor>(L_, index, stack, read_tensor);
    case Kind::kOptionalTensorList:
      return push_list<std::optional<at::Tensor>>(
          L_, index, stack, [&](int item) -> std::optional<std::optional<at::Tensor>> {
            if (is_none(item)) return std::optional<at::Tensor>();
            auto tensor = read_tensor(item);
            if (!tensor) return std::nullopt;
            return std::optional<std::optional<at::Tensor>>(std::move(tensor));
          });
    default:
      return false;
  }
}

// Whether the value can be an item of the parameter's list.
bool Arguments::is_item(int index, const Param& param) const {
  const at::Tensor* tensor = test_tensor(vm_, L_, index);
  const bool is_tensor = tensor != nullptr && tensor->defined();
  switch (param.kind) {
    case Kind::kIntList:
      return (param.fixed_size > 0 ? read_size(vm_, L_, index) : read_int(vm_, L_, index))
          .has_value();
    case Kind::kFloatList:
      return read_double(vm_, L_, index).has_value();
    case Kind::kBoolList:
      return lua_type(L_, index) == LUA_TBOOLEAN;
    case Kind::kScalarList:
      return to_scalar(L_, index).has_value();
    case Kind::kTensorList:
      return is_tensor;
    case Kind::kOptionalTensorList:
      return is_tensor || is_none(index);
    default:
      return false;
  }
}

int Arguments::keyword(std::string_view name) const {
  for (int i = 0; i < keyword_count_; ++i) {
    if (name == keywords_[i].name) return keywords_[i].index;
  }
  return 0;
}

bool Arguments::take_out() {
  const int index = keyword("out");
  if (index == 0) return false;
  drop_keyword("out");
  if (is_none(index)) return false;
  out_ = index;
  if (lua_type(L_, index) != LUA_TTABLE) {
    outs_.push_back(index);
    return true;
  }
  const int count = static_cast<int>(lua_objlen(L_, index));
  luaL_checkstack(L_, count + 8, "too many tensors in out");
  for (int i = 1; i <= count; ++i) {
    lua_rawgeti(L_, index, i);
    outs_.push_back(lua_gettop(L_));
  }
  return true;
}

int Arguments::index_of(const Overload& overload, size_t param) const {
  const size_t inputs = overload.params.size() - overload.outs;
  return param < inputs ? static_cast<int>(param) + 1 : outs_[param - inputs];
}

void Arguments::drop_keyword(std::string_view name) {
  for (int i = 0; i < keyword_count_; ++i) {
    if (name != keywords_[i].name) continue;
    keywords_[i] = keywords_[--keyword_count_];
    return;
  }
}

}  // namespace rtrain::engine
