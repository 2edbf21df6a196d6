#include "host/engine/files/tree.h"

#include <optional>
#include <unordered_map>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/tensor/tensor.h"
#include "host/lua/convert.h"
#include "host/lua/table_reader.h"

namespace rtrain::engine {
namespace {

class TreeBuilder {
 public:
  using Node = Tree;
  static constexpr std::string_view kHolds =
      "cannot be stored here (nil, boolean, number, string, tensor, list or map of these)";

  Tree list(std::vector<Tree> items) {
    auto out = std::make_shared<TreeList>();
    out->items = std::move(items);
    return out;
  }

  Tree map(std::vector<std::pair<Key, Tree>> entries, bool ordered) {
    auto out = std::make_shared<TreeMap>();
    out->entries = std::move(entries);
    out->ordered = ordered;
    return out;
  }

  // Refuses objects, because loading would restore only their fields.
  static void check_table(lua_State* L, int index, const std::string& path) {
    if (lua_getmetatable(L, index) == 0) return;
    lua_pop(L, 1);
    refuse_object(L, index, path);
  }

  std::optional<Tree> other(lua_State* L, int index, const std::string& path) {
    if (lua_type(L, index) == lua::kCdata) return complex_number(L, index);
    if (lua_touserdata(L, index) == vm(L).none) return Tree();
    const at::Tensor* tensor = test_tensor(L, index);
    if (tensor == nullptr) {
      refuse_object(L, index, path);
      return std::nullopt;
    }
    if (!tensor->defined()) throw Error(Code::kArgument, cat(path, ": this Tensor was released"));
    return *tensor;
  }

  static Tree large(uint64_t number) { return number; }

  std::optional<Tree> known(const void* table) const {
    const auto found = known_.find(table);
    if (found == known_.end()) return std::nullopt;
    return found->second;
  }

  void keep(const void* table, const Tree& node) { known_.emplace(table, node); }

 private:
  // Throws Error(kArgument) for an instance of a class.
  static void refuse_object(lua_State* L, int index, const std::string& path) {
    lua_getglobal(L, "require");
    lua_pushliteral(L, "base.class");
    lua_call(L, 1, 1);
    lua_getfield(L, -1, "of");
    lua_pushvalue(L, index);
    lua_call(L, 1, 1);
    if (!lua_isnil(L, -1)) {
      lua_getfield(L, -1, "__name");
      lua_getfield(L, -2, "state_dict");
      throw Error(Code::kArgument,
                  cat(path, ": a ", std::string_view(luaL_checkstring(L, -2)), " ",
                      lua_isfunction(L, -1) ? "cannot be saved: save its state_dict()" : kHolds));
    }
    lua_pop(L, 2);
  }

  static std::optional<Tree> complex_number(lua_State* L, int index) {
    if (cdata_kind(L, index) != CdataKind::kComplex) return std::nullopt;
    return to_scalar(L, index)->to<c10::complex<double>>();
  }

  std::unordered_map<const void*, Tree> known_;
};

// Pushes nodes. A table at the bottom of its stack region maps nodes to the tables already
// pushed.
class Writer {
 public:
  explicit Writer(lua_State* L) : L_(L) {
    lua_newtable(L_);
    known_ = lua_gettop(L_);
  }

  void push(const Tree& tree) {
    luaL_checkstack(L_, 8, "value nested too deeply");
    std::visit([this](const auto& value) { push_one(value); }, tree);
  }

  void finish() { lua_remove(L_, known_); }

 private:
  void push_one(std::monostate) { lua_pushnil(L_); }
  void push_one(bool value) { lua_pushboolean(L_, value ? 1 : 0); }
  void push_one(int64_t value) { push_int(L_, value); }
  void push_one(uint64_t value) { push_uint(L_, value); }
  void push_one(double value) { lua_pushnumber(L_, value); }
  void push_one(c10::complex<double> value) { push_complex(L_, value); }
  void push_one(const std::string& value) { lua_pushlstring(L_, value.data(), value.size()); }
  void push_one(const at::Tensor& value) { push_tensor(L_, value); }

  void push_one(const std::shared_ptr<TreeList>& list) {
    if (push_known(list.get())) return;
    lua_createtable(L_, static_cast<int>(list->items.size()), 0);
    remember(list.get());
    for (size_t i = 0; i < list->items.size(); ++i) {
      push_item(list->items[i]);
      lua_rawseti(L_, -2, static_cast<int>(i) + 1);
    }
    if (list->items.empty()) mark(lua::kListMeta);
  }

  void push_one(const std::shared_ptr<TreeMap>& map) {
    if (push_known(map.get())) return;
    if (map->ordered) {
      lua_getglobal(L_, "require");
      lua_pushliteral(L_, "base.ordered");
      lua_call(L_, 1, 1);
      lua_getfield(L_, -1, "new");
      lua_remove(L_, -2);
      lua_call(L_, 0, 1);
    } else {
      lua_createtable(L_, 0, static_cast<int>(map->entries.size()));
    }
    remember(map.get());
    bool integer_keys = false;
    for (const auto& [key, item] : map->entries) {
      integer_keys |= std::holds_alternative<int64_t>(key);
      std::visit([this](const auto& value) { push_one(value); }, key);
      push(item);
      lua_settable(L_, -3);  // not raw: an ordered map records the order
    }
    if (integer_keys && !map->ordered) mark(lua::kIntMapMeta);
  }

  // In a list torch.none stands for None, so that the list keeps its length.
  void push_item(const Tree& item) {
    if (!std::holds_alternative<std::monostate>(item)) return push(item);
    lua_getfield(L_, LUA_REGISTRYINDEX, kNoneKey);
  }

  bool push_known(const void* node) {
    lua_pushlightuserdata(L_, const_cast<void*>(node));
    lua_rawget(L_, known_);
    if (!lua_isnil(L_, -1)) return true;
    lua_pop(L_, 1);
    return false;
  }

  void remember(const void* node) {
    lua_pushlightuserdata(L_, const_cast<void*>(node));
    lua_pushvalue(L_, -2);
    lua_rawset(L_, known_);
  }

  void mark(const char* meta) {
    luaL_newmetatable(L_, meta);
    lua_setmetatable(L_, -2);
  }

  lua_State* L_;
  int known_ = 0;
};

}  // namespace

Tree to_tree(lua_State* L, int index, std::string_view what) {
  return lua::TableReader(L, TreeBuilder()).read(index, std::string(what));
}

void push_tree(lua_State* L, const Tree& tree) {
  Writer writer(L);
  writer.push(tree);
  writer.finish();
}

}  // namespace rtrain::engine
