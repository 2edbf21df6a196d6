#include "host/engine/files/pickle_calls.h"

#include <ATen/ops/_sparse_compressed_tensor_unsafe.h>
#include <ATen/ops/_sparse_coo_tensor_unsafe.h>
#include <ATen/ops/_validate_sparse_compressed_tensor_args.h>
#include <ATen/ops/_validate_sparse_coo_tensor_args.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <optional>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/files/pickle_format.h"
#include "host/engine/runtime/dtype.h"
#include "host/engine/tensor/empty_tensor.h"

namespace rtrain::engine {
namespace {

using Items = std::vector<Item>;
using Dims = std::vector<int64_t>;

// LibTorch's operators refuse more dimensions, some of them with misleading errors.
constexpr size_t kMaxDims = 64;

void check_count_of_dims(size_t count) {
  if (count <= kMaxDims) return;
  throw Error(Code::kUnsupported, cat("a tensor of ", count, " dimensions: tensors of at most ",
                                      kMaxDims, " can be loaded"));
}

const TypeName* type_of(std::string_view name, std::string_view TypeName::*field) {
  if (!name.starts_with("torch.")) return nullptr;
  for (const TypeName& type : kTypeNames) {
    if (type.*field == name.substr(6) && !(type.*field).empty()) return &type;
  }
  return nullptr;
}

bool is_untyped_storage(std::string_view name) { return name == "torch.storage.UntypedStorage"; }

Dims dims_of(const Item& item) {
  const Items& items = items_of(item);
  check_count_of_dims(items.size());
  Dims out;
  for (const Item& inner : items) out.push_back(integer_of(inner));
  return out;
}

// Checks, without overflow, that the tensor's last element lies inside the storage.
void check_extent(int64_t numel, int64_t offset, const Dims& sizes, const Dims& strides) {
  if (offset < 0 || sizes.size() != strides.size()) malformed("a tensor's shape");
  bool empty = false;
  int64_t last = offset;
  int64_t count = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t step = 0;
    if (sizes[i] < 0 || strides[i] < 0) malformed("a tensor's shape");
    empty |= sizes[i] == 0;
    if (sizes[i] == 0) continue;
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &step) ||
        __builtin_add_overflow(last, step, &last) ||
        __builtin_mul_overflow(count, sizes[i], &count) || count > INT64_MAX / 16) {
      malformed("a tensor's shape");
    }
  }
  if (!empty && last >= numel) malformed("a tensor reaches outside its storage");
}

void set_requires_grad(at::Tensor& tensor, const Item& wanted) {
  if (!boolean_of(wanted)) return;
  if (!at::isFloatingType(tensor.scalar_type()) && !tensor.is_complex()) {
    malformed("a gradient for a tensor of integers");
  }
  tensor.requires_grad_(true);
}

// {'conj': True, 'neg': True}: sets the tensor's conjugate and negative bits.
void set_metadata(at::Tensor& tensor, const Item& item) {
  const auto& map = value_of<std::shared_ptr<TreeMap>>(item, "a dict of tensor metadata");
  for (const auto& [key, value] : map->entries) {
    const bool* on = std::get_if<bool>(&value);
    if (on == nullptr) malformed("a tensor's metadata");
    if (key == Key("conj") && tensor.is_complex()) {
      tensor._set_conj(*on);
    } else if (key == Key("neg") && tensor.scalar_type() != at::kBool) {
      tensor._set_neg(*on);
    } else {
      malformed("a tensor's metadata");
    }
  }
}

at::Tensor strided(const Items& given, std::optional<c10::ScalarType> named) {
  const auto* storage = std::get_if<StorageRef>(&given[0]);
  if (storage == nullptr) malformed("a tensor without a storage");
  const c10::ScalarType type = named.value_or(storage->type);
  if (type != storage->type && storage->type != at::kByte) malformed("a tensor's dtype");
  const int64_t offset = integer_of(given[1]);
  const Dims sizes = dims_of(given[2]);
  const Dims strides = dims_of(given[3]);
  const auto item_size = static_cast<int64_t>(c10::elementSize(type));
  const auto storage_item_size = static_cast<int64_t>(c10::elementSize(storage->type));
  check_extent(storage->numel * storage_item_size / item_size, offset, sizes, strides);
  at::Tensor out =
      empty_tensor({0}, at::TensorOptions().dtype(type).device(storage->storage.device()));
  return out.set_(storage->storage, offset, sizes, strides);
}

Tree rebuild_tensor(const Items& given) {
  at::Tensor out = strided(given, std::nullopt);
  if (given.size() == 4) return out;
  set_requires_grad(out, given[4]);
  if (given.size() == 7) set_metadata(out, given[6]);
  return out;
}

Tree rebuild_tensor_v3(const Items& given) {
  const auto* name = std::get_if<Global>(&given[6]);
  const TypeName* type = name == nullptr ? nullptr : type_of(name->name, &TypeName::dtype);
  if (type == nullptr) malformed("a tensor's dtype");
  at::Tensor out = strided(given, type->type);
  set_requires_grad(out, given[4]);
  if (given.size() == 8) set_metadata(out, given[7]);
  return out;
}

Tree rebuild_parameter(const Items& given) {
  at::Tensor out = value_of<at::Tensor>(given[0], "a tensor").detach();
  set_requires_grad(out, given[1]);
  return out;
}

// Rebuilds a tensor with Python attributes and drops the attributes.
Tree rebuild_with_attributes(const Items& given, PickleNodes& nodes) {
  const auto* function = std::get_if<Global>(&given[0]);
  const auto* type = std::get_if<Global>(&given[1]);
  if (function == nullptr || !function->name.starts_with("torch._utils._rebuild_")) {
    malformed("a tensor without its parts");
  }
  if (type == nullptr ||
      (type->name != "torch.Tensor" && type->name != "torch.nn.parameter.Parameter")) {
    malformed("a tensor of another class");
  }
  return call_name(function->name, items_of(given[2]), nodes);
}

const at::Tensor& dense_part(const Item& item) {
  const auto& out = value_of<at::Tensor>(item, "a part of a sparse tensor");
  // Otherwise one element repeated with stride 0 in a small file would take long to check.
  if (out.layout() != c10::kStrided || !out.is_contiguous()) {
    malformed("a part of a sparse tensor is not contiguous");
  }
  return out;
}

// to_tree has converted the Size to a list.
Dims size_of(const Item& item) {
  Dims out;
  for (const Tree& size :
       value_of<std::shared_ptr<TreeList>>(item, "the size of a sparse tensor")->items) {
    out.push_back(integer_of(size));
  }
  check_count_of_dims(out.size());
  check_extent(1, 0, out, Dims(out.size(), 0));
  return out;
}

at::Tensor sparse_tensor(const std::string& layout, const Items& parts) {
  if (layout == "sparse_coo") {
    if (parts.size() != 3 && parts.size() != 4) malformed("the parts of a sparse tensor");
    const at::Tensor &indices = dense_part(parts[0]), &values = dense_part(parts[1]);
    const bool coalesced = parts.size() == 4 && boolean_of(parts[3]);
    const Dims size = size_of(parts[2]);
    at::_validate_sparse_coo_tensor_args(indices, values, size, coalesced);
    return at::_sparse_coo_tensor_unsafe(indices, values, size,
                                         values.options().layout(c10::kSparse), coalesced);
  }
  if (parts.size() != 4) malformed("the parts of a sparse tensor");
  const auto kind = layout_from_name(layout);
  if (!kind || !is_sparse_compressed(*kind)) malformed(cat("a sparse tensor of layout ", layout));
  const at::Tensor &compressed = dense_part(parts[0]), &plain = dense_part(parts[1]),
                   &values = dense_part(parts[2]);
  const Dims size = size_of(parts[3]);
  at::_validate_sparse_compressed_tensor_args(compressed, plain, values, size, *kind);
  return at::_sparse_compressed_tensor_unsafe(compressed, plain, values, size,
                                              values.options().layout(*kind));
}

Tree rebuild_sparse_tensor(const Items& given) {
  try {
    return sparse_tensor(text_of(given[0]), items_of(given[1]));
  } catch (const c10::Error& error) {
    malformed(cat("a sparse tensor: ", split(error.what_without_backtrace(), '\n').front()));
  }
}

// Decodes UTF-8 text of characters below 256 into bytes with these numbers.
Tree latin1_bytes(const Items& given) {
  const std::string& encoding = text_of(given[1]);
  if (encoding != "latin1" && encoding != "latin-1") {
    malformed("_codecs.encode of another encoding than latin1");
  }
  const std::string& text = text_of(given[0]);
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      out.push_back(text[i]);
    } else if ((lead == 0xc2 || lead == 0xc3) && i + 1 < text.size()) {
      out.push_back(static_cast<char>(lead << 6 | (static_cast<unsigned char>(text[++i]) & 0x3f)));
    } else {
      malformed("_codecs.encode of text that is not latin1");
    }
  }
  return out;
}

Tree device_name(const Items& given) {
  return given.size() == 1 ? text_of(given[0]) : cat(text_of(given[0]), ":", integer_of(given[1]));
}

Tree layout_value(const Items& given) {
  const std::string& name = text_of(given[0]);
  if (!name.starts_with("torch.")) malformed("a layout's name");
  return name.substr(6);
}

Tree complex_number(const Items& given) {
  return c10::complex<double>(value_of<double>(given[0], "a float"),
                              value_of<double>(given[1], "a float"));
}

Tree empty_ordered_map(const Items&, PickleNodes& nodes) { return nodes.map(true); }
Tree empty_map(const Items&, PickleNodes& nodes) { return nodes.map(false); }
Tree first_as_value(const Items& given, PickleNodes& nodes) { return to_tree(given[0], nodes); }

Tree first_text(const Items& given) { return given.empty() ? std::string() : text_of(given[0]); }

template <Tree (*F)(const Items&)>
Tree without_nodes(const Items& given, PickleNodes&) {
  return F(given);
}

struct Call {
  std::string_view name;
  size_t least, most;  // number of arguments
  Tree (*call)(const Items& given, PickleNodes& nodes);
};

constexpr Call kCalls[] = {
    {"torch._utils._rebuild_tensor", 4, 4, &without_nodes<&rebuild_tensor>},
    {"torch._utils._rebuild_tensor_v2", 6, 7, &without_nodes<&rebuild_tensor>},
    {"torch._utils._rebuild_tensor_v3", 7, 8, &without_nodes<&rebuild_tensor_v3>},
    {"torch._utils._rebuild_parameter", 3, 3, &without_nodes<&rebuild_parameter>},
    {"torch._utils._rebuild_parameter_with_state", 4, 4, &without_nodes<&rebuild_parameter>},
    {"torch._tensor._rebuild_from_type_v2", 4, 4, &rebuild_with_attributes},
    {"torch._utils._rebuild_sparse_tensor", 2, 2, &without_nodes<&rebuild_sparse_tensor>},
    {"torch.serialization._get_layout", 1, 1, &without_nodes<&layout_value>},
    {"torch.Size", 1, 1, &first_as_value},
    {"torch.device", 1, 2, &without_nodes<&device_name>},
    {"collections.OrderedDict", 0, 0, &empty_ordered_map},
    {"collections.defaultdict", 0, 1, &empty_map},
    {"collections.Counter", 1, 1, &first_as_value},
    {"_codecs.encode", 2, 2, &without_nodes<&latin1_bytes>},
    {"__builtin__.set", 1, 1, &first_as_value},
    {"__builtin__.bytes", 0, 0, &without_nodes<&first_text>},
    {"__builtin__.bytearray", 0, 1, &without_nodes<&first_text>},
    {"__builtin__.complex", 2, 2, &without_nodes<&complex_number>},
};

// Names that occur only as arguments of calls: the class of a tensor, and the factory of a
// defaultdict.
constexpr std::string_view kArguments[] = {
    "torch.Tensor",      "torch.nn.parameter.Parameter",
    "__builtin__.int",   "__builtin__.float",
    "__builtin__.list",  "__builtin__.dict",
    "__builtin__.str",   "__builtin__.bool",
    "__builtin__.tuple",
};

const Call* find_call(std::string_view name) {
  const auto* found = std::ranges::find(kCalls, name, &Call::name);
  return found == std::end(kCalls) ? nullptr : found;
}

bool is_known(std::string_view name) {
  return find_call(name) != nullptr || is_untyped_storage(name) ||
         std::ranges::find(kArguments, name) != std::end(kArguments) ||
         type_of(name, &TypeName::storage) != nullptr || type_of(name, &TypeName::dtype) != nullptr;
}

}  // namespace

void check_known(const std::string& name) {
  if (is_known(name)) return;
  const std::string_view advice =
      name.starts_with("numpy.")
          ? "Save numpy's numbers as x.item() and its arrays as torch.from_numpy(x)"
          : "Save a state dict instead of whole objects";
  throw Error(Code::kArgument,
              cat("it refers to the Python name ", name,
                  ", which is refused: only tensors and plain values are loaded. ", advice));
}

c10::ScalarType storage_type(const Item& item) {
  const auto* name = std::get_if<Global>(&item);
  if (name != nullptr && is_untyped_storage(name->name)) return at::kByte;
  const TypeName* type = name == nullptr ? nullptr : type_of(name->name, &TypeName::storage);
  if (type == nullptr) malformed("a storage without a type");
  return type->type;
}

Tree to_tree(const Item& item, PickleNodes& nodes) {
  if (const auto* tree = std::get_if<Tree>(&item)) return *tree;
  if (const auto* name = std::get_if<Global>(&item)) {
    const TypeName* type = type_of(name->name, &TypeName::dtype);
    if (type == nullptr) malformed(cat("the name ", name->name, " where a value should be"));
    return std::string(type->dtype);
  }
  const auto* tuple = std::get_if<std::shared_ptr<Tuple>>(&item);
  if (tuple == nullptr) malformed("a bare storage or mark where a value should be");
  // Converts each tuple once: with nested tuples that are used twice, the work would double per
  // level.
  if ((*tuple)->list == nullptr) {
    (*tuple)->list = nodes.list();
    for (const Item& inner : (*tuple)->items)
      (*tuple)->list->items.push_back(to_tree(inner, nodes));
  }
  return (*tuple)->list;
}

Tree call_name(const std::string& name, const std::vector<Item>& given, PickleNodes& nodes) {
  const Call* call = find_call(name);
  if (call == nullptr) malformed(cat(name, " is not a function"));
  if (given.size() < call->least || given.size() > call->most) {
    malformed(cat("the arguments of ", name));
  }
  return call->call(given, nodes);
}

}  // namespace rtrain::engine
