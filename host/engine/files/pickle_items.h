// host/engine/files/pickle_items.h: the items on an unpickler's stack: finished values, and parts
// of tensors and calls that are not values yet.
#pragma once

#include <c10/core/Storage.h>

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/engine/files/pickle_checks.h"
#include "host/engine/files/tree.h"

namespace rtrain::engine {

struct Mark {};
struct Global {
  std::string name;  // "torch._utils._rebuild_tensor_v2"
};
struct StorageRef {
  c10::Storage storage;
  c10::ScalarType type;  // kByte for an UntypedStorage
  int64_t numel = 0;
};
struct Tuple;
using Item = std::variant<Tree, Mark, Global, StorageRef, std::shared_ptr<Tuple>>;
struct Tuple {
  std::vector<Item> items;
  int depth = 1;
  std::shared_ptr<TreeList> list;  // the tuple as a list, made when first needed
};

// All containers of one pickle. The destructor empties those outside of the result one by one, so
// that cycles do not leak and deep chains are not destroyed recursively.
class PickleNodes {
 public:
  PickleNodes() = default;
  ~PickleNodes() {
    for (auto& list : lists_) {
      if (!kept_.contains(list.get())) list->items.clear();
    }
    for (auto& map : maps_) {
      if (!kept_.contains(map.get())) map->entries.clear();
    }
  }
  PickleNodes(const PickleNodes&) = delete;
  PickleNodes& operator=(const PickleNodes&) = delete;

  std::shared_ptr<TreeList> list() { return lists_.emplace_back(std::make_shared<TreeList>()); }
  std::shared_ptr<TreeMap> map(bool ordered) {
    maps_.push_back(std::make_shared<TreeMap>());
    maps_.back()->ordered = ordered;
    return maps_.back();
  }
  // Marks the containers that belong to the pickle's result.
  void keep(NodeHeights nodes) {
    kept_ = std::move(nodes);
    for (const auto& map : maps_) {
      if (kept_.contains(map.get())) remove_duplicates(*map);
    }
  }

 private:
  NodeHeights kept_;
  std::vector<std::shared_ptr<TreeList>> lists_;
  std::vector<std::shared_ptr<TreeMap>> maps_;
};

inline const std::vector<Item>& items_of(const Item& item) {
  const auto* tuple = std::get_if<std::shared_ptr<Tuple>>(&item);
  if (tuple == nullptr) malformed("arguments are missing");
  return (*tuple)->items;
}

template <class T>
const T& value_of(const Item& item, std::string_view wanted) {
  const Tree* tree = std::get_if<Tree>(&item);
  const T* out = tree == nullptr ? nullptr : std::get_if<T>(tree);
  if (out == nullptr) malformed(std::string(wanted) + " is missing");
  return *out;
}
inline const std::string& text_of(const Item& item) {
  return value_of<std::string>(item, "a string");
}
inline int64_t integer_of(const Item& item) { return value_of<int64_t>(item, "an integer"); }
inline bool boolean_of(const Item& item) { return value_of<bool>(item, "a boolean"); }

}  // namespace rtrain::engine
