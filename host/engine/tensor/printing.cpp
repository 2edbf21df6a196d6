#include "host/engine/tensor/printing.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <c10/core/DefaultDtype.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <vector>

#include "host/base/text/text.h"
#include "host/engine/runtime/dtype.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/tensor/number_format.h"
#include "host/engine/tensor/shard_guard.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

constexpr char kOptionsKey = 0;  // its address is the registry key of the state's PrintOptions

PrintOptions& options_of(lua_State* L) {
  lua_pushlightuserdata(L, const_cast<char*>(&kOptionsKey));
  lua_rawget(L, LUA_REGISTRYINDEX);
  auto* out = static_cast<PrintOptions*>(lua_touserdata(L, -1));
  lua_pop(L, 1);
  return *out;
}

// Keeps only the ends of dimensions that are too long to show.
at::Tensor edges(const at::Tensor& tensor, int64_t count) {
  at::Tensor out = tensor;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
    const int64_t size = tensor.size(dim);
    if (size <= 2 * count) continue;
    out = at::cat({out.narrow(dim, 0, count), out.narrow(dim, size - count, count)}, dim);
  }
  return out;
}

// Puts the brackets, commas and line breaks around the elements.
class Printer {
 public:
  Printer(at::IntArrayRef sizes, bool summarised, const PrintOptions& options,
          ElementTexts& elements)
      : sizes_(sizes), summarised_(summarised), options_(options), elements_(elements) {}

  std::string print(size_t dim, size_t indent) {
    if (dim == sizes_.size()) return elements_.take();
    if (dim + 1 == sizes_.size()) return print_row(dim, indent);
    std::vector<std::string> parts;
    for_each_shown(
        dim, [&] { parts.push_back(print(dim + 1, indent + 1)); }, [&] { parts.push_back("..."); });
    const std::string separator =
        cat(",", std::string(sizes_.size() - dim - 1, '\n'), std::string(indent + 1, ' '));
    return cat("[", join(parts, separator), "]");
  }

 private:
  template <class Item, class Gap>
  void for_each_shown(size_t dim, Item item, Gap gap) {
    const int64_t size = sizes_[dim];
    const int64_t ends = 2 * options_.edgeitems;
    const bool cut = summarised_ && size > ends;
    for (int64_t i = 0; i < (cut ? ends : size); ++i) {
      if (cut && i == options_.edgeitems) gap();
      item();
    }
    if (cut && ends == 0) gap();
  }

  std::string print_row(size_t dim, size_t indent) {
    std::vector<std::string> items;
    const char* gap = options_.edgeitems > 0 ? " ..." : "...";
    for_each_shown(
        dim, [&] { items.push_back(elements_.take()); }, [&] { items.push_back(gap); });
    const int64_t room = options_.linewidth - static_cast<int64_t>(indent);
    const auto fitting = room / static_cast<int64_t>(elements_.width() + 2);
    const auto per_line = static_cast<size_t>(std::max<int64_t>(1, fitting));
    std::string out = "[";
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0)
        out += i % per_line == 0 ? cat(",\n", std::string(indent + 1, ' ')) : std::string(", ");
      out += items[i];
    }
    return out + "]";
  }

  at::IntArrayRef sizes_;
  bool summarised_;
  const PrintOptions& options_;
  ElementTexts& elements_;
};

std::string elements_text(const at::Tensor& tensor, size_t indent, const PrintOptions& options) {
  if (tensor.numel() == 0) return "[]";
  const bool summarised = static_cast<double>(tensor.numel()) > options.threshold;
  at::Tensor shown = tensor.detach().resolve_neg();
  if (summarised) shown = edges(shown, options.edgeitems);
  ElementTexts elements(shown.cpu(), options);
  return Printer(tensor.sizes(), summarised, options, elements).print(0, indent);
}

std::string size_text(at::IntArrayRef sizes) {
  std::string out = "size=(";
  for (size_t i = 0; i < sizes.size(); ++i) out += cat(i > 0 ? ", " : "", sizes[i]);
  return out + (sizes.size() == 1 ? ",)" : ")");
}

bool is_usual(at::ScalarType dtype) {
  const at::ScalarType standard = c10::get_default_dtype_as_scalartype();
  const auto standard_complex = standard == at::kDouble ? at::kComplexDouble : at::kComplexFloat;
  return dtype == standard || dtype == standard_complex || dtype == at::kLong || dtype == at::kBool;
}

struct Part {
  const char* name;
  at::Tensor values;
};

std::vector<Part> parts_of(const at::Tensor& tensor) {
  switch (tensor.layout()) {
    case at::kSparse:
      return {{"indices", tensor._indices()}, {"values", tensor._values()}};
    case at::kSparseCsr:
    case at::kSparseBsr:
      return {{"crow_indices", tensor.crow_indices()},
              {"col_indices", tensor.col_indices()},
              {"values", tensor.values()}};
    default:
      return {{"ccol_indices", tensor.ccol_indices()},
              {"row_indices", tensor.row_indices()},
              {"values", tensor.values()}};
  }
}

bool is_sparse(const at::Tensor& tensor) {
  return tensor.layout() != at::kStrided && tensor.layout() != at::kMkldnn;
}

std::string sparse_text(const at::Tensor& tensor, size_t indent, const PrintOptions& options) {
  std::vector<std::string> lines;
  for (const Part& part : parts_of(tensor)) {
    const std::string prefix = cat(part.name, "=tensor(");
    const at::Tensor values = part.values.detach();
    std::string line = prefix + elements_text(values, indent + prefix.size(), options);
    if (values.numel() == 0) line += cat(", ", size_text(values.sizes()));
    lines.push_back(line + ")");
  }
  return join(lines, cat(",\n", std::string(indent, ' ')));
}

std::string content_text(const at::Tensor& tensor, size_t indent, const PrintOptions& options) {
  if (tensor.is_meta()) return "...";
  if (is_sparse(tensor)) return sparse_text(tensor, indent, options);
  if (tensor.layout() != at::kStrided) return elements_text(tensor.to_dense(), indent, options);
  return elements_text(tensor, indent, options);
}

// "<MulBackward0>". nullopt for a view that was changed in place without recording of gradients.
std::optional<std::string> grad_fn_text(const at::Tensor& tensor) {
  try {
    const auto& fn = tensor.grad_fn();
    if (!fn) return std::nullopt;
    const std::string name = fn->name();
    const size_t space = name.rfind("::");
    return cat("grad_fn=<", space == std::string::npos ? name : name.substr(space + 2), ">");
  } catch (const c10::Error&) {
    return "grad_fn=<Invalid>";
  }
}

bool shows_size(const at::Tensor& tensor, const PrintOptions& options) {
  if (tensor.is_meta() || is_sparse(tensor)) return true;
  return tensor.numel() == 0 ? tensor.dim() != 1 : options.edgeitems == 0;
}

std::vector<std::string> suffixes(const at::Tensor& tensor, const PrintOptions& options) {
  std::vector<std::string> out;
  const at::ScalarType dtype = tensor.scalar_type();
  const bool sparse = is_sparse(tensor);
  if (!tensor.is_cpu()) out.push_back(cat("device='", tensor.device().str(), "'"));
  if (shows_size(tensor, options)) out.push_back(size_text(tensor.sizes()));
  if (sparse) out.push_back(cat("nnz=", tensor._nnz()));
  // An empty int64 or bool tensor shows its dtype, because it has no elements that would show it.
  const bool bare = !sparse && (tensor.is_meta() || tensor.numel() == 0);
  const bool usual = bare ? dtype == c10::get_default_dtype_as_scalartype() : is_usual(dtype);
  if (!usual) out.push_back(cat("dtype=torch.", dtype_name(dtype)));
  if (tensor.layout() != at::kStrided)
    out.push_back(cat("layout=torch.", layout_name(tensor.layout())));
  if (const auto grad_fn = grad_fn_text(tensor)) {
    out.push_back(*grad_fn);
  } else if (tensor.requires_grad()) {
    out.emplace_back("requires_grad=True");
  }
  return out;
}

// The length of the last line as PyTorch computes it, which is one or two characters too many.
size_t last_line(const std::string& text) {
  const size_t newline = text.rfind('\n');
  return newline == std::string::npos ? text.size() + 2 : text.size() - newline + 1;
}

int64_t check_option(lua_State* L, int index, int64_t otherwise) {
  return lua_isnoneornil(L, index) ? otherwise : to_int(L, index).value_or(otherwise);
}

int set_printoptions(lua_State* L) {
  PrintOptions& options = options_of(L);
  options.precision = static_cast<int>(check_option(L, 1, options.precision));
  options.threshold = to_double(L, 2).value_or(options.threshold);
  options.edgeitems = check_option(L, 3, options.edgeitems);
  options.linewidth = check_option(L, 4, options.linewidth);
  options.scientific.reset();
  if (!lua_isnoneornil(L, 5)) options.scientific = lua_toboolean(L, 5) != 0;
  return 0;
}

}  // namespace

std::string to_text(lua_State* L, const at::Tensor& tensor) {
  const ShardScope scope;
  const at::NoGradGuard no_grad;
  const PrintOptions& options = options_of(L);
  const std::string prefix = "tensor(";
  std::string out = prefix + content_text(tensor, prefix.size(), options);
  size_t line = last_line(out);
  bool force = tensor.is_sparse();
  for (const std::string& suffix : suffixes(tensor, options)) {
    const bool wrap = force || static_cast<int64_t>(line + suffix.size() + 2) > options.linewidth;
    out += wrap ? cat(",\n", std::string(prefix.size(), ' '), suffix) : cat(", ", suffix);
    line = wrap ? prefix.size() + suffix.size() : line + suffix.size() + 2;
    force = false;
  }
  return out + ")";
}

void open_printing(lua_State* L) {
  lua_pushlightuserdata(L, const_cast<char*>(&kOptionsKey));
  new (lua_newuserdata(L, sizeof(PrintOptions))) PrintOptions();
  lua_rawset(L, LUA_REGISTRYINDEX);
  push_torch_function<&set_printoptions>(L);
  lua_setfield(L, -2, "set_printoptions");
}

}  // namespace rtrain::engine
