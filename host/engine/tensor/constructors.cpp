#include "host/engine/tensor/constructors.h"

#include <ATen/ops/scalar_tensor.h>
#include <c10/core/DefaultDtype.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>
#include <vector>

#include "host/engine/memory/retry.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/default_device.h"
#include "host/engine/runtime/dtype.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/open.h"
#include "host/engine/runtime/recording_listener.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/tensor/empty_tensor.h"
#include "host/engine/tensor/number_list.h"
#include "host/engine/tensor/sizes.h"
#include "host/engine/tensor/tensor.h"
#include "host/lua/list_items.h"
#include "host/lua/options.h"

namespace rtrain::engine {
namespace {

std::optional<at::Scalar> scalar_at(lua_State* L, int index) {
  const at::Tensor* tensor = test_tensor(L, index);
  if (tensor != nullptr && tensor->defined() && tensor->numel() == 1) return tensor->item();
  return to_scalar(L, index);
}

// Reads nested lists: the shape from the first items, then all items in order.
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
    const bool is_table = lua_type(L_, index) == LUA_TTABLE;
    if (is_table != (depth < sizes_.size())) mixed(index, is_table);
    if (!is_table) {
      add(index);
      return;
    }
    const auto size = static_cast<int64_t>(lua_objlen(L_, index));
    if (!lua::is_list(L_, index, static_cast<int>(size))) not_a_list(index);
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

  // Throws for an item that is not a number, including nil.
  void not_a_list(int index) {
    const int hole = lua::first_hole(L_, index);
    if (hole == 0) {
      throw Error(Code::kArgument, cat("tensor: ", here(), ": expected a list, got a table: ",
                                       lua::list_problem(L_, index)));
    }
    path_.push_back(hole);
    lua_pushnil(L_);
    visit(lua_gettop(L_));
  }

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
  const auto parsed = std::from_chars(text.data(), end, integer);
  const bool is_integer = parsed.ec == std::errc() && parsed.ptr == end;
  if (is_integer && !text.starts_with("-0")) return at::Scalar(integer);
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  return at::Scalar(number);
}

// Adds the numbers of a row, separated by spaces or commas. Returns their count.
int64_t add_row(std::string_view row, NumberList& numbers) {
  constexpr std::string_view kSpace = " \t\r\n,";
  int64_t count = 0;
  for (size_t first = row.find_first_not_of(kSpace); first != std::string_view::npos;
       first = row.find_first_not_of(kSpace), ++count) {
    row.remove_prefix(first);
    const std::string_view word = row.substr(0, row.find_first_of(kSpace));
    const auto number = parse_number(word);
    if (!number)
      throw Error(Code::kArgument, cat("tensor: '", word, "' in the text is not a number"));
    numbers.add(*number, true);
    row.remove_prefix(word.size());
  }
  return count;
}

// Parses "1 2, 3" as a vector, "1 2; 3 4" as a matrix.
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

struct Wanted {
  std::optional<at::ScalarType> dtype;
  std::optional<c10::Device> device;
  bool requires_grad = false;
  bool pin_memory = false;
};

Wanted read_wanted(lua_State* L, int index) {
  const lua::Options options(L, index, "tensor",
                             {"dtype", "device", "requires_grad", "pin_memory"});
  Wanted out;
  const std::string dtype = options.text("dtype", "");
  const std::string device = options.text("device", "");
  if (!dtype.empty()) out.dtype = parse_dtype(dtype);
  out.device = device.empty() ? default_device() : std::optional(parse_device(device));
  out.requires_grad = options.boolean("requires_grad", false);
  out.pin_memory = options.boolean("pin_memory", false);
  return out;
}

at::Tensor read_data(lua_State* L, std::optional<at::ScalarType> dtype) {
  if (test_tensor(L, 1) != nullptr) {
    const at::Tensor& source = check_tensor(L, 1);
    return source.detach().clone().to(dtype.value_or(source.scalar_type()));
  }
  if (lua_type(L, 1) == LUA_TSTRING) return tensor_from_text(lua_tostring(L, 1), dtype);
  return tensor_from_table(L, 1, dtype);
}

// tensor(data, {dtype, device, requires_grad, pin_memory}): data is a number, a boolean, nested
// lists of these, a string of numbers, or a tensor, which is copied.
int tensor(lua_State* L) {
  lua_settop(L, 2);
  const Wanted wanted = read_wanted(L, 2);
  at::Tensor out = read_data(L, wanted.dtype);
  if (wanted.device) {
    out = with_retry(vm(L), L, "tensor", [&] { return out.to(*wanted.device); });
  }
  if (wanted.pin_memory) out = out.pin_memory();
  if (wanted.requires_grad) out.set_requires_grad(true);
  push_tensor(L, std::move(out));
  return 1;
}

// scalar(value, dtype): a 0-dim tensor of that dtype.
int scalar(lua_State* L) {
  const auto value = to_scalar(L, 1);
  if (!value)
    throw Error(Code::kArgument, cat("scalar: expected a number, got ", describe_value(L, 1)));
  const at::ScalarType dtype = lua_isnoneornil(L, 2) ? c10::get_default_dtype_as_scalartype()
                                                     : check_dtype(L, 2, "scalar: dtype");
  push_tensor(L, at::scalar_tensor(*value, at::TensorOptions().dtype(dtype)));
  return 1;
}

// from_bytes(string, dtype, sizes): a tensor with these bytes as its memory.
int from_bytes(lua_State* L) {
  const std::string_view bytes = check_text(L, 1, "from_bytes: bytes");
  const at::ScalarType dtype = check_dtype(L, 2, "from_bytes: dtype");
  Sizes sizes;
  if (lua_isnoneornil(L, 3)) {
    sizes.push_back(static_cast<int64_t>(bytes.size() / c10::elementSize(dtype)));
  } else if (lua_type(L, 3) != LUA_TTABLE || !read_sizes(L, 3, 3, sizes) ||
             std::ranges::any_of(sizes, [](int64_t size) { return size < 0; })) {
    throw Error(Code::kArgument,
                cat("from_bytes: sizes: expected a list of integers of at least 0, got ",
                    describe_value(L, 3)));
  }
  at::Tensor out = empty_tensor(sizes, at::TensorOptions().dtype(dtype));
  if (out.nbytes() != bytes.size()) {
    throw Error(Code::kArgument, cat("from_bytes: ", describe(out), " needs ", out.nbytes(),
                                     " bytes, got ", bytes.size()));
  }
  if (!bytes.empty()) std::memcpy(out.data_ptr(), bytes.data(), bytes.size());
  if (RecordingListener* listener = RecordingListener::current()) listener->add_constant(out);
  push_tensor(L, std::move(out));
  return 1;
}

constexpr lua::Method kFunctions[] = {torch_method<&tensor>("tensor"),
                                      torch_method<&scalar>("scalar"),
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

void open_constructors(lua_State* L) { lua::add_functions(L, kFunctions); }

}  // namespace rtrain::engine
