#include "host/engine/memory/live_tensors.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "host/base/text/text.h"
#include "host/engine/runtime/lua_tensor.h"

namespace rtrain::engine {
namespace {

// Limit of visited objects, so that the error is not delayed for long.
constexpr size_t kMostObjects = 500'000;
constexpr int kMostFrames = 200;

// A breadth-first search, so that each tensor gets its shortest name.
class Search {
 public:
  Search(lua_State* L, c10::Device device) : L_(L), vm_(vm(L)), device_(device) {
    lua_newtable(L);
    queue_ = lua_gettop(L);
  }

  LiveTensors run(size_t most) {
    add_frames();
    lua_pushvalue(L_, LUA_REGISTRYINDEX);
    add("", kRoot);
    for (size_t i = 0; i < places_.size() && i < kMostObjects; ++i) visit(i);
    lua_settop(L_, queue_ - 1);
    std::ranges::stable_sort(
        found_, [](const LiveTensor& a, const LiveTensor& b) { return a.bytes > b.bytes; });
    LiveTensors out;
    for (const LiveTensor& tensor : found_) out.bytes += tensor.bytes;
    found_.resize(std::min(found_.size(), most));
    out.largest = std::move(found_);
    return out;
  }

 private:
  static constexpr size_t kRoot = SIZE_MAX;

  // How an object was reached: through this key of the object at `parent`.
  struct Place {
    size_t parent;
    std::string key;
  };

  // Pops the value from the stack and queues it if it is a new object.
  void add(std::string_view key, size_t parent) {
    if (at::Tensor* tensor = test_tensor(vm_, L_, -1)) {
      note(*tensor, key, parent);
    } else if (can_hold(lua_type(L_, -1)) && seen_.insert(lua_topointer(L_, -1)).second) {
      places_.push_back({parent, std::string(key)});
      lua_rawseti(L_, queue_, static_cast<int>(places_.size()));
      return;
    }
    lua_pop(L_, 1);
  }

  static bool can_hold(int type) {
    return type == LUA_TTABLE || type == LUA_TFUNCTION || type == LUA_TUSERDATA;
  }

  void note(const at::Tensor& tensor, std::string_view key, size_t parent) {
    if (!tensor.defined()) return;
    const std::string name = name_of(key, parent);
    note_memory(tensor, name);
    if (!tensor.is_leaf()) return;
    const at::Tensor& gradient = tensor.grad();
    if (gradient.defined()) note_memory(gradient, name.empty() ? "" : "gradient of " + name);
  }

  void note_memory(const at::Tensor& tensor, std::string name) {
    if (tensor.device() != device_ || !tensor.has_storage()) return;
    const c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
    if (!seen_.insert(storage).second) return;
    found_.push_back({.name = std::move(name),
                      .text = describe(tensor),
                      .bytes = static_cast<int64_t>(storage->nbytes()),
                      .data = storage->data(),
                      .storage = storage});
  }

  // "model.fc.weight". Leaves out private fields ("_parameters") between classes.
  std::string name_of(std::string_view key, size_t parent) const {
    std::string name(key.starts_with('_') || key.starts_with('(') ? "" : key);
    for (size_t i = parent; i != kRoot; i = places_[i].parent) {
      const std::string& part = places_[i].key;
      if (part.empty() || part.starts_with('_') || part.starts_with('(')) continue;
      name = name.empty() ? part : part + "." + name;
    }
    return name;
  }

  // Adds locals of the running functions, innermost first, and the upvalues of these functions.
  void add_frames() {
    lua_Debug frame;
    for (int level = 0; level < kMostFrames && lua_getstack(L_, level, &frame) != 0; ++level) {
      for (int i = 1; const char* name = lua_getlocal(L_, &frame, i); ++i) add(name, kRoot);
      if (lua_getinfo(L_, "f", &frame) != 0) add("", kRoot);
    }
  }

  void visit(size_t i) {
    lua_rawgeti(L_, queue_, static_cast<int>(i) + 1);
    const int object = lua_gettop(L_);
    if (lua_type(L_, object) == LUA_TTABLE) visit_fields(object, i);
    if (lua_type(L_, object) == LUA_TFUNCTION) visit_captured(object, i);
    if (lua_getmetatable(L_, object) != 0) add("", i);
    if (lua_type(L_, object) == LUA_TUSERDATA) {
      lua_getfenv(L_, object);
      add("", i);
    }
    lua_settop(L_, object - 1);
  }

  void visit_fields(int table, size_t i) {
    lua_pushnil(L_);
    while (lua_next(L_, table) != 0) {
      if (lua_type(L_, -2) == LUA_TSTRING) {
        add(lua_tostring(L_, -2), i);
      } else {
        add(lua_type(L_, -2) == LUA_TNUMBER ? cat("", lua_tonumber(L_, -2)) : "", i);
      }
    }
  }

  void visit_captured(int function, size_t i) {
    for (int n = 1; const char* name = lua_getupvalue(L_, function, n); ++n) add(name, i);
  }

  lua_State* L_;
  const Vm& vm_;
  c10::Device device_;
  int queue_ = 0;  // a table of the objects, in the order of places_
  std::vector<Place> places_;
  std::unordered_set<const void*> seen_;
  std::vector<LiveTensor> found_;
};

}  // namespace

LiveTensors live_tensors(lua_State* L, c10::Device device, size_t most) {
  luaL_checkstack(L, 16, "too many values");
  return Search(L, device).run(most);
}

}  // namespace rtrain::engine
