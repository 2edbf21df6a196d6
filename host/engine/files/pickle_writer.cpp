#include "host/engine/files/pickle_writer.h"

#include <ATen/core/Tensor.h>

#include <bit>
#include <cstring>
#include <deque>
#include <unordered_map>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/base/text/utf8.h"
#include "host/engine/files/pickle_format.h"
#include "host/engine/runtime/dtype.h"
#include "host/engine/tensor/shard_guard.h"

namespace rtrain::engine {
namespace {

const TypeName& type_name(c10::ScalarType type) {
  for (const TypeName& name : kTypeNames) {
    if (name.type == type) return name;
  }
  throw Error(Code::kArgument, cat("a tensor of dtype ", std::string_view(c10::toString(type)),
                                   " cannot be saved: convert it with x:to first"));
}

class Pickler {
 public:
  Pickle run(const Tree& tree) {
    op(Opcode::kProto);
    out_.bytes.push_back(2);
    put(tree);
    op(Opcode::kStop);
    return std::move(out_);
  }

 private:
  void op(Opcode code) { out_.bytes.push_back(static_cast<char>(code)); }

  // Little-endian, like all numbers in a pickle except floats.
  template <class T>
  void raw(T number) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &number, sizeof(T));
    out_.bytes.append(bytes, sizeof(T));
  }

  void global(std::string_view module, std::string_view name) {
    op(Opcode::kGlobal);
    out_.bytes += cat(module, "\n", name, "\n");
  }

  void put(const Tree& tree) {
    std::visit([this](const auto& value) { put(value); }, tree);
  }
  void put(std::monostate) { op(Opcode::kNone); }
  void put(bool value) { op(value ? Opcode::kNewTrue : Opcode::kNewFalse); }

  void put(int64_t value) {
    if (value == static_cast<int32_t>(value)) {
      op(Opcode::kBinInt);
      raw(static_cast<int32_t>(value));
      return;
    }
    op(Opcode::kLong1);
    out_.bytes.push_back(8);
    raw(value);
  }

  // The zero byte keeps the number positive.
  void put(uint64_t value) {
    op(Opcode::kLong1);
    out_.bytes.push_back(9);
    raw(value);
    out_.bytes.push_back(0);
  }

  void put(double value) {
    op(Opcode::kBinFloat);
    raw(__builtin_bswap64(std::bit_cast<uint64_t>(value)));
  }

  void put(c10::complex<double> value) {
    global("__builtin__", "complex");
    put(value.real());
    put(value.imag());
    op(Opcode::kTuple2);
    op(Opcode::kReduce);
  }

  void put(const std::string& value) {
    if (is_utf8(value)) return unicode(value);
    std::string text;  // each byte as the character of that number; latin1 restores it
    for (const char c : value) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 0x80) text.push_back(static_cast<char>(0xc0 | byte >> 6));
      text.push_back(byte < 0x80 ? c : static_cast<char>(0x80 | (byte & 0x3f)));
    }
    global("_codecs", "encode");
    unicode(text);
    unicode("latin1");
    op(Opcode::kTuple2);
    op(Opcode::kReduce);
  }

  void unicode(std::string_view text) {
    if (text.size() > UINT32_MAX)
      throw Error(Code::kArgument, "a string above 4 GiB cannot be saved");
    op(Opcode::kBinUnicode);
    raw(static_cast<uint32_t>(text.size()));
    out_.bytes += text;
  }

  void put(const std::shared_ptr<TreeList>& list) {
    if (get(list.get())) return;
    op(Opcode::kEmptyList);
    remember(list.get());
    if (list->items.empty()) return;
    op(Opcode::kMark);
    for (const Tree& item : list->items) put(item);
    op(Opcode::kAppends);
  }

  void put(const std::shared_ptr<TreeMap>& map) {
    if (get(map.get())) return;
    if (map->ordered) {
      empty_ordered_dict();
    } else {
      op(Opcode::kEmptyDict);
    }
    remember(map.get());
    if (map->entries.empty()) return;
    op(Opcode::kMark);
    for (const auto& [key, item] : map->entries) {
      std::visit([this](const auto& value) { put(value); }, key);
      put(item);
    }
    op(Opcode::kSetItems);
  }

  void empty_ordered_dict() {
    global("collections", "OrderedDict");
    op(Opcode::kEmptyTuple);
    op(Opcode::kReduce);
  }

  void put(const at::Tensor& given) {
    if (!given.defined()) return op(Opcode::kNone);
    if (get(given.unsafeGetTensorImpl())) return;
    check_whole(given, "torch.save");
    if (given.layout() == c10::kStrided && given.has_storage() && !given.is_quantized()) {
      strided(given);
    } else if (given.is_sparse() || is_sparse_compressed(given.layout())) {
      sparse(given);
    } else {
      throw Error(Code::kArgument,
                  cat("a tensor of ", std::string_view(given.toString()),
                      " cannot be saved: only dense and sparse tensors with values can"));
    }
    remember(given.unsafeGetTensorImpl());
  }

  void strided(const at::Tensor& given) {
    const at::Tensor& tensor = kept_.emplace_back(given.resolve_conj().resolve_neg());
    const TypeName& type = type_name(tensor.scalar_type());
    global("torch._utils", type.storage.empty() ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2");
    op(Opcode::kMark);
    storage(tensor, type);
    put(tensor.storage_offset());
    dims(tensor.sizes());
    dims(tensor.strides());
    put(given.requires_grad());
    empty_ordered_dict();
    if (type.storage.empty()) global("torch", type.dtype);
    op(Opcode::kTuple);
    op(Opcode::kReduce);
  }

  // As in Python, requires_grad is not written.
  void sparse(const at::Tensor& given) {
    global("torch._utils", "_rebuild_sparse_tensor");
    global("torch.serialization", "_get_layout");
    unicode(cat("torch.", layout_name(given.layout())));
    op(Opcode::kTuple1);
    op(Opcode::kReduce);
    op(Opcode::kMark);
    for (at::Tensor& part : sparse_parts(given)) {
      put(kept_.emplace_back(part.detach().contiguous()));
    }
    global("torch", "Size");
    dims(given.sizes());
    op(Opcode::kTuple1);
    op(Opcode::kReduce);
    if (given.is_sparse()) put(given.is_coalesced());
    op(Opcode::kTuple);
    op(Opcode::kTuple2);
    op(Opcode::kReduce);
  }

  static std::vector<at::Tensor> sparse_parts(const at::Tensor& given) {
    if (given.is_sparse()) return {given._indices(), given._values()};
    const bool rows = given.layout() == c10::kSparseCsr || given.layout() == c10::kSparseBsr;
    if (rows) return {given.crow_indices(), given.col_indices(), given.values()};
    return {given.ccol_indices(), given.row_indices(), given.values()};
  }

  void dims(at::IntArrayRef sizes) {
    op(Opcode::kMark);
    for (const int64_t size : sizes) put(size);
    op(Opcode::kTuple);
  }

  void storage(const at::Tensor& tensor, const TypeName& type) {
    const bool untyped = type.storage.empty();
    const c10::ScalarType element = untyped ? c10::kByte : type.type;
    const c10::Storage& storage = tensor.storage();
    const auto [entry, fresh] = numbers_.try_emplace(storage.unsafeGetStorageImpl(),
                                                     std::pair(out_.storages.size(), element));
    if (fresh) out_.storages.push_back(storage);
    if (entry->second.second != element) {
      throw Error(Code::kArgument,
                  "two tensors that share memory have different dtypes, which a .pt file cannot "
                  "hold: save a clone of one of them");
    }
    op(Opcode::kMark);
    unicode("storage");
    global(untyped ? "torch.storage" : "torch", untyped ? "UntypedStorage" : type.storage);
    unicode(std::to_string(entry->second.first));
    unicode(tensor.device().str());
    put(static_cast<int64_t>(storage.nbytes() / c10::elementSize(element)));
    op(Opcode::kTuple);
    op(Opcode::kBinPersId);
  }

  bool get(const void* node) {
    const auto entry = memo_.find(node);
    if (entry == memo_.end()) return false;
    op(Opcode::kLongBinGet);
    raw(entry->second);
    return true;
  }

  void remember(const void* node) {
    const auto number = static_cast<uint32_t>(memo_.size());
    memo_.emplace(node, number);
    op(Opcode::kLongBinPut);
    raw(number);
  }

  Pickle out_;
  std::unordered_map<const void*, uint32_t> memo_;
  std::unordered_map<const void*, std::pair<size_t, c10::ScalarType>> numbers_;
  std::deque<at::Tensor> kept_;  // keeps their addresses in memo_ and numbers_ unique
};

}  // namespace

Pickle pickle(const Tree& tree) { return Pickler().run(tree); }

}  // namespace rtrain::engine
