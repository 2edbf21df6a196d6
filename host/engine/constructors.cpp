#include "host/engine/constructors.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/core/DefaultDtype.h>

#include <charconv>
#include <cstring>
#include <string_view>
#include <vector>

#include "host/engine/dtype.h"
#include "host/engine/engine.h"
#include "host/engine/guard.h"
#include "host/engine/number_list.h"
#include "host/engine/scalars.h"
#include "host/engine/tensor.h"

namespace rtrain {
namespace {

std::optional<at::Scalar> scalar_at(lua_State* L, int index) {
  const at::Tensor* tensor = test_tensor(L, index);
  if (tensor != nullptr && tensor->defined() && tensor->numel() == 1) return tensor->item();
  return to_scalar(L, index);
}

// Reads nested lists: the shape from the first items, then every item in order.
class TableReader {
 public:
  explicit TableReader(lua_State* L) : L_(L) {}

  void read(int index) {
    measure(index);
    visit(index);
  }
  const NumberList& numbers() const { return numbers_; }
  at::IntArrayRef sizes() const { return sizes_; }

 private:
  void measure(int index) {
    luaL_checkstack(L_, 8, "too many dimensions");
    if (lua_type(L_, index) != LUA_TTABLE) return;
    if (sizes_.size() == kMaxDepth) {
      throw Error(Code::kArgument, "tensor: the lists are nested too deeply, or hold themselves");
    }
    sizes_.push_back(static_cast<int64_t>(lua_objlen(L_, index)));
    lua_rawgeti(L_, index, 1);
    measure(lua_gettop(L_));
    lua_pop(L_, 1);
  }

  void visit(int index) {
    const size_t depth = path_.size();
    const bool is_list = lua_type(L_, index) == LUA_TTABLE;
    if (is_list != (depth < sizes_.size())) mixed(index, is_list);
    if (!is_list) {
      add(index);
      return;
    }
    const auto size = static_cast<int64_t>(lua_objlen(L_, index));
    if (size != sizes_[depth]) ragged(size);
    path_.push_back(0);
    for (int i = 1; i <= static_cast<int>(size); ++i) {
      path_.back() = i;
      lua_rawgeti(L_, index, i);
      visit(lua_gettop(L_));
      lua_pop(L_, 1);
    }
    path_.pop_back();
  }

  // "data[2][1]"
  static std::string place(const std::vector<int>& path) {
    std::string out = "data";
    for (const int i : path) out += cat("[", i, "]");
    return out;
  }
  std::string here() const { return place(path_); }
  std::string first() const { return place(std::vector<int>(path_.size(), 1)); }

  [[noreturn]] void ragged(int64_t size) const {
    throw Error(Code::kArgument,
                cat("tensor: ", here(), " has ", size, " items, ", first(), " has ",
                    sizes_[path_.size()], ": lists of one depth must have the same length"));
  }

  [[noreturn]] void mixed(int index, bool is_list) const {
    throw Error(Code::kArgument, cat("tensor: ", here(), " is ",
                                     is_list ? std::string("a list") : describe_value(L_, index),
                                     ", ", first(), " is ", is_list ? "a number" : "a list"));
  }

  void add(int index) {
    if (const auto item = scalar_at(L_, index)) {
      numbers_.add(*item, lua_type(L_, index) == LUA_TNUMBER);
      return;
    }
    const char* hint =
        test_tensor(L_, index) == nullptr
            ? ""
            : ": only tensors of one element stand for numbers, torch.stack joins others";
    throw Error(Code::kArgument, cat("tensor: ", here(), ": expected numbers or booleans, got ",
                                     describe_value(L_, index), hint));
  }

  static constexpr size_t kMaxDepth = 64;
  lua_State* L_;
  NumberList numbers_;
  std::vector<int64_t> sizes_;
  std::vector<int> path_;
};

std::optional<at::Scalar> parse_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const char* end = text.data() + text.size();
  int64_t integer = 0;
  if (const auto [rest, error] = std::from_chars(text.data(), end, integer);
      error == std::errc() && rest == end) {
    return at::Scalar(integer);
  }
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  return at::Scalar(number);
}

// Adds the numbers of a row of text, between spaces or commas; returns how many there were.
int64_t add_row(std::string_view row, NumberList& numbers) {
  constexpr std::string_view kSpace = " \t\r\n,";
  int64_t count = 0;
  for (size_t first = row.find_first_not_of(kSpace); first != std::string_view::npos;
       first = row.find_first_not_of(kSpace), ++count) {
    row.remove_prefix(first);
    const std::string_view word = row.substr(0, row.find_first_of(kSpace));
    const auto number = parse_number(word);
    if (!number) throw Error(Code::kArgument, cat("tensor: '", word, "' in the text is no number"));
    numbers.add(*number, true);
    row.remove_prefix(word.size());
  }
  return count;
}

// Numbers as text: "1 2, 3" is a vector, "1 2; 3 4" a matrix.
at::Tensor tensor_from_text(std::string_view text, std::optional<at::ScalarType> dtype) {
  NumberList numbers;
  int64_t rows = 0;
  int64_t columns = 0;
  for (size_t start = 0; start <= text.size(); ++rows) {
    const size_t end = std::min(text.find(';', start), text.size());
    const int64_t count = add_row(text.substr(start, end - start), numbers);
    if (rows > 0 && count != columns) {
      throw Error(Code::kArgument, cat("tensor: row ", rows, " of the text has ", count,
                                       " numbers, row 0 has ", columns));
    }
    columns = count;
    start = end + 1;
  }
  const at::ScalarType wanted = dtype.value_or(numbers.own_dtype());
  if (text.find(';') == std::string_view::npos) return numbers.build({columns}, wanted);
  return numbers.build({rows, columns}, wanted);
}

struct Options {
  std::optional<at::ScalarType> dtype;
  std::optional<c10::Device> device;
  bool requires_grad = false;
  bool pin_memory = false;
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
    } else if (key == "pin_memory") {
      out.pin_memory = lua_toboolean(L, -1) != 0;
    } else {
      throw Error(Code::kArgument,
                  cat("tensor: unknown keyword '", key, "'", suggestion(key, kNames)));
    }
    lua_pop(L, 1);
  }
  return out;
}

int push_with_options(lua_State* L, at::Tensor out, const Options& options) {
  if (options.device) out = out.to(*options.device);
  if (options.pin_memory) out = out.pin_memory();
  if (options.requires_grad) out.set_requires_grad(true);
  push_tensor(L, std::move(out));
  return 1;
}

// tensor(data, {dtype, device, requires_grad, pin_memory}): data is a number, a boolean, nested
// lists of these, a text, or a tensor (copied).
int tensor(lua_State* L) {
  const Options options = read_options(L, 2);
  if (const at::Tensor* source = test_tensor(L, 1)) {
    const at::Tensor copy = check_tensor(L, 1).detach().clone();
    return push_with_options(L, copy.to(options.dtype.value_or(source->scalar_type())), options);
  }
  if (lua_type(L, 1) == LUA_TSTRING) {
    return push_with_options(L, tensor_from_text(lua_tostring(L, 1), options.dtype), options);
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
  TableReader reader(L);
  reader.read(index);
  return reader.numbers().build(reader.sizes(), dtype.value_or(reader.numbers().own_dtype()));
}

at::Tensor tensor_from_index_list(lua_State* L, int index) {
  TableReader reader(L);
  reader.read(index);
  return reader.numbers().build_index(reader.sizes());
}

void open_constructors(lua_State* L) {
  for (const Method& f : kFunctions) {
    lua_pushcfunction(L, f.function());
    lua_setfield(L, -2, f.name());
  }
}

}  // namespace rtrain
