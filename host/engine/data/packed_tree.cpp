#include "host/engine/data/packed_tree.h"

#include <ATen/ops/from_blob.h>

#include <cstring>
#include <unordered_map>

#include "host/base/error.h"
#include "host/engine/memory/allocator.h"
#include "host/engine/tensor/empty_tensor.h"

namespace rtrain::engine {
namespace {

enum Tag : uint8_t {
  kNil,
  kFalse,
  kTrue,
  kInt,
  kUint,
  kDouble,
  kComplex,
  kText,
  kTensor,
  kList,
  kMap,
  kOrderedMap,
  kKnown
};

size_t aligned(size_t offset) {
  constexpr size_t kStep = PackedTree::kTensorAlignment;
  return (offset + kStep - 1) / kStep * kStep;
}

class Writer {
 public:
  void add(const Tree& tree) {
    std::visit([this](const auto& value) { add_one(value); }, tree);
  }
  std::string head;
  std::vector<at::Tensor> tensors;

 private:
  template <class T>
  void raw(T value) {
    head.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void text(const std::string& value) {
    raw(uint64_t{value.size()});
    head += value;
  }
  void add_one(std::monostate) { raw(kNil); }
  void add_one(bool value) { raw(value ? kTrue : kFalse); }
  void add_one(int64_t value) {
    raw(kInt);
    raw(value);
  }
  void add_one(uint64_t value) {
    raw(kUint);
    raw(value);
  }
  void add_one(double value) {
    raw(kDouble);
    raw(value);
  }
  void add_one(c10::complex<double> value) {
    raw(kComplex);
    raw(value);
  }
  void add_one(const std::string& value) {
    raw(kText);
    text(value);
  }
  void add_one(const at::Tensor& given) {
    if (given.layout() != c10::kStrided) {
      throw Error(Code::kArgument,
                  "a sparse tensor cannot travel to another process: use x:to_dense()");
    }
    const at::Tensor& tensor =
        tensors.emplace_back(given.detach().resolve_conj().resolve_neg().cpu().contiguous());
    raw(kTensor);
    raw(tensor.scalar_type());
    raw(uint64_t{tensor.sizes().size()});
    for (const int64_t size : tensor.sizes()) raw(size);
  }
  // Whether the node was packed before. A shared node is packed once and then referenced.
  bool is_known(const void* node) {
    const auto [place, is_new] = known_.emplace(node, known_.size());
    if (is_new) return false;
    raw(kKnown);
    raw(uint64_t{place->second});
    return true;
  }
  void add_one(const std::shared_ptr<TreeList>& list) {
    if (is_known(list.get())) return;
    raw(kList);
    raw(uint64_t{list->items.size()});
    for (const Tree& item : list->items) add(item);
  }
  void add_one(const std::shared_ptr<TreeMap>& map) {
    if (is_known(map.get())) return;
    raw(map->ordered ? kOrderedMap : kMap);
    raw(uint64_t{map->entries.size()});
    for (const auto& [key, item] : map->entries) {
      std::visit([this](const auto& value) { add_one(value); }, key);
      add(item);
    }
  }

  std::unordered_map<const void*, uint64_t> known_;
};

class Reader {
 public:
  Reader(std::string_view bytes, const std::shared_ptr<void>& owner)
      : bytes_(bytes), owner_(owner) {
    next_tensor_ = aligned(raw<uint64_t>());
  }

  Tree next() {
    switch (raw<Tag>()) {
      case kNil:
        return {};
      case kFalse:
        return false;
      case kTrue:
        return true;
      case kInt:
        return raw<int64_t>();
      case kUint:
        return raw<uint64_t>();
      case kDouble:
        return raw<double>();
      case kComplex:
        return raw<c10::complex<double>>();
      case kText:
        return text();
      case kTensor:
        return tensor();
      case kList:
        return list();
      case kMap:
        return map(false);
      case kOrderedMap:
        return map(true);
      case kKnown:
        return known_.at(raw<uint64_t>());
    }
    fail();
  }

 private:
  [[noreturn]] static void fail() {
    throw Error(Code::kInternal, "a message of another process is cut off");
  }
  const char* take(size_t count) {
    if (count > bytes_.size() - at_) fail();
    return bytes_.data() + std::exchange(at_, at_ + count);
  }
  template <class T>
  T raw() {
    T value;
    std::memcpy(&value, take(sizeof(value)), sizeof(value));
    return value;
  }
  std::string text() {
    const auto size = raw<uint64_t>();
    return {take(size), size};
  }
  Tree tensor() {
    const auto dtype = raw<at::ScalarType>();
    std::vector<int64_t> sizes(raw<uint64_t>());
    auto bytes = static_cast<int64_t>(c10::elementSize(dtype));
    for (int64_t& size : sizes) {
      size = raw<int64_t>();
      bytes *= size;
    }
    const at::TensorOptions options = at::TensorOptions().dtype(dtype);
    if (bytes == 0) return empty_tensor(sizes, options);
    const size_t first = next_tensor_;
    if (first + static_cast<size_t>(bytes) > bytes_.size()) fail();
    next_tensor_ = aligned(first + static_cast<size_t>(bytes));
    note_foreign_bytes(bytes);
    return at::from_blob(
        const_cast<char*>(bytes_.data()) + first, sizes,
        [owner = owner_, bytes](void*) { note_foreign_bytes(-bytes); }, options);
  }
  Tree list() {
    auto out = std::make_shared<TreeList>();
    known_.emplace_back(out);
    for (auto left = raw<uint64_t>(); left > 0; --left) out->items.push_back(next());
    return out;
  }
  Key key() {
    Tree tree = next();
    if (auto* name = std::get_if<std::string>(&tree)) return std::move(*name);
    return std::get<int64_t>(tree);
  }
  Tree map(bool ordered) {
    auto out = std::make_shared<TreeMap>();
    known_.emplace_back(out);
    out->ordered = ordered;
    for (auto left = raw<uint64_t>(); left > 0; --left) {
      Key name = key();
      out->entries.emplace_back(std::move(name), next());
    }
    return out;
  }

  std::string_view bytes_;
  std::shared_ptr<void> owner_;
  size_t at_ = 0;
  size_t next_tensor_ = 0;
  std::vector<Tree> known_;
};

}  // namespace

PackedTree::PackedTree(const Tree& tree) {
  Writer writer;
  writer.add(tree);
  tensors_ = std::move(writer.tensors);
  const uint64_t head_size = sizeof(head_size) + writer.head.size();
  head_.assign(reinterpret_cast<const char*>(&head_size), sizeof(head_size));
  head_ += writer.head;
  size_ = head_.size();
  for (const at::Tensor& tensor : tensors_) {
    if (tensor.nbytes() > 0) size_ = aligned(size_) + tensor.nbytes();
  }
}

void PackedTree::write(const std::function<void(std::string_view)>& out) const {
  static constexpr char kPadding[kTensorAlignment] = {};
  out(head_);
  size_t at = head_.size();
  for (const at::Tensor& tensor : tensors_) {
    if (tensor.nbytes() == 0) continue;
    if (aligned(at) > at) out({kPadding, aligned(at) - at});
    out({static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()});
    at = aligned(at) + tensor.nbytes();
  }
}

Tree unpack_tree(std::string_view bytes, const std::shared_ptr<void>& owner) {
  return Reader(bytes, owner).next();
}

}  // namespace rtrain::engine
