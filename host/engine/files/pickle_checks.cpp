#include "host/engine/files/pickle_checks.h"

#include <algorithm>
#include <map>

#include "host/base/text/text.h"

namespace rtrain::engine {
namespace {

// Height 0 marks a node whose children are being visited. Reaching it again means that it contains
// itself.
int height(const Tree& tree, NodeHeights& heights, int depth) {
  const auto* list = std::get_if<std::shared_ptr<TreeList>>(&tree);
  const auto* map = std::get_if<std::shared_ptr<TreeMap>>(&tree);
  if (list == nullptr && map == nullptr) return 0;
  const void* node = list != nullptr ? static_cast<const void*>(list->get()) : map->get();
  if (depth > kMaxPickleDepth) malformed("nested too deeply");
  const auto [known, fresh] = heights.try_emplace(node, 0);
  if (!fresh) {
    if (known->second == 0) malformed("a container holds itself");
    if (depth + known->second > kMaxPickleDepth) malformed("nested too deeply");
    return known->second;
  }
  int most = 0;
  const auto take = [&](const Tree& item) {
    most = std::max(most, height(item, heights, depth + 1));
  };
  if (list != nullptr) {
    for (const Tree& item : (*list)->items) take(item);
  } else {
    for (const auto& entry : (*map)->entries) take(entry.second);
  }
  return heights[node] = most + 1;
}

}  // namespace

MalformedPickle::MalformedPickle(std::string_view what)
    : Error(Code::kArgument, cat("malformed pickle: ", what)) {}

void malformed(std::string_view what) { throw MalformedPickle(what); }

NodeHeights check_nesting(const Tree& tree) {
  NodeHeights heights;
  height(tree, heights, 0);
  return heights;
}

void remove_duplicates(TreeMap& map) {
  std::map<Key, size_t> places;  // a hash table would be slow for keys that collide
  size_t end = 0;
  for (auto& entry : map.entries) {
    const auto [place, fresh] = places.try_emplace(entry.first, end);
    auto& target = map.entries[place->second];
    if (&target != &entry) target = std::move(entry);
    if (fresh) ++end;
  }
  map.entries.resize(end);
}

}  // namespace rtrain::engine
