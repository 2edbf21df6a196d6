#include "host/lua/closure/closure_nodes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "host/base/text/text.h"
#include "host/lua/closure/closure.h"

namespace rtrain::lua {
namespace {

std::string size_text(size_t bytes) { return cat((bytes + (size_t{1} << 19)) >> 20, " MiB"); }

}  // namespace

ClosureNodes::ClosureNodes(lua_State* L) : L_(L) {
  for (int* table : {&memo_, &objects_}) {
    lua_newtable(L);
    *table = lua_gettop(L);
  }
}

int ClosureNodes::of_object(Origin origin) {
  lua_pushvalue(L_, -1);
  lua_rawget(L_, memo_);
  if (!lua_isnil(L_, -1)) {
    const int id = static_cast<int>(lua_tointeger(L_, -1));
    lua_pop(L_, 2);
    return id;
  }
  lua_pop(L_, 1);
  const int id = static_cast<int>(nodes_.size());
  nodes_.emplace_back().origin = std::move(origin);
  lua_pushvalue(L_, -1);
  lua_pushinteger(L_, id);
  lua_rawset(L_, memo_);
  lua_rawseti(L_, objects_, id);
  return id;
}

int ClosureNodes::of_cell(int function, int upvalue, const char* name) {
  push(function);
  void* cell = lua_upvalueid(L_, -1, upvalue);
  lua_pop(L_, 1);
  const auto [found, is_new] = cells_.try_emplace(cell, static_cast<int>(nodes_.size()));
  if (is_new) {
    ClosureNode& node = nodes_.emplace_back();
    node.kind = NodeKind::kCell;
    node.origin = {function, name};
    node.function = function;
    node.upvalue = upvalue;
  }
  return found->second;
}

void ClosureNodes::push(int id) const { lua_rawgeti(L_, objects_, id); }

// Returns the node whose name a user knows: the upvalue, global or root that leads to this one.
int ClosureNodes::variable_root(int id) const {
  while (nodes_[id].origin.parent >= 0 && nodes_[id].kind != NodeKind::kCell)
    id = nodes_[id].origin.parent;
  return id;
}

std::string ClosureNodes::variable(int id) const {
  std::string out;
  for (; id >= 0; id = nodes_[id].origin.parent) {
    out = nodes_[id].origin.step + out;
    if (nodes_[id].kind == NodeKind::kCell) break;
  }
  return out.starts_with('.') ? out.substr(1) : out.empty() ? "value" : out;
}

std::string ClosureNodes::captured_at(int id) const {
  const ClosureNode& root = nodes_[variable_root(id)];
  int function = root.function;
  if (root.kind != NodeKind::kCell) {
    const auto found = global_functions_.find(root.origin.step);
    if (found == global_functions_.end()) return {};
    function = found->second;
  }
  if (function < 0) return {};
  lua_Debug info;
  push(function);
  lua_getinfo(L_, ">S", &info);
  return cat(std::string_view(info.short_src), ":", info.linedefined);
}

void ClosureNodes::add_size(int id, size_t bytes) {
  nodes_[id].bytes += bytes;
  total_bytes_ += bytes;
  if (total_bytes_ <= kClosureMaxBytes) return;
  throw Error(Code::kConfig,
              cat("the train function captures more than 1 GiB: ", largest_variables(),
                  "; load large data inside the function instead"));
}

std::string ClosureNodes::size_warning() const {
  if (total_bytes_ <= kClosureWarnBytes) return {};
  return cat("the train function captures ", size_text(total_bytes_), ": ", largest_variables(),
             "; every worker gets its own copy (load large data inside the function instead)");
}

std::string ClosureNodes::largest_variables() const {
  std::map<int, size_t> sizes;
  for (size_t id = 0; id < nodes_.size(); ++id) {
    sizes[variable_root(static_cast<int>(id))] += nodes_[id].bytes;
  }
  std::vector<std::pair<size_t, int>> sorted;
  for (const auto& [id, size] : sizes) sorted.emplace_back(size, id);
  std::sort(sorted.rbegin(), sorted.rend());
  if (sorted.size() > 3) sorted.resize(3);
  std::vector<std::string> parts;
  for (const auto& [size, id] : sorted) {
    if (size < size_t{1} << 20) break;
    const std::string where = captured_at(id);
    parts.push_back(
        cat("'", variable(id), "' ", size_text(size), where.empty() ? "" : cat(" (", where, ")")));
  }
  return join(parts, ", ");
}

}  // namespace rtrain::lua
