// host/engine/files/tree.h: plain values and tensors outside any Lua state: the content of a `.pt`
// file, or a loader's batch.
//
// nil, boolean, integer (uint64_t only beyond int64), float, complex, string, tensor, list, map.
// Lists and maps are shared: a table that occurs in two places is one node, and becomes one table
// again. A tree may be passed between threads; its nodes must not change after that.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/complex.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "host/base/value.h"
#include "host/lua/lua.h"

namespace rtrain::engine {

struct TreeList;
struct TreeMap;

using Tree =
    std::variant<std::monostate, bool, int64_t, uint64_t, double, c10::complex<double>, std::string,
                 at::Tensor, std::shared_ptr<TreeList>, std::shared_ptr<TreeMap>>;

struct TreeList {
  std::vector<Tree> items;
};

// Keys are unique.
struct TreeMap {
  std::vector<std::pair<Key, Tree>> entries;
  bool ordered = false;  // a Lua `base.ordered`, a Python OrderedDict
};

// Registry key of torch.none, which stands for nil inside a list.
inline constexpr const char* kNoneKey = "rtrain.torch.none";

// Converts the value at the index, by the rules of host/lua/convert.h plus tensors. Throws
// Error(kArgument) that names the path of a value that cannot be stored; `what` begins the path.
Tree to_tree(lua_State* L, int index, std::string_view what);

// Pushes the value. Ordered maps become `base.ordered`; maps with integer keys become marked
// integer maps.
void push_tree(lua_State* L, const Tree& tree);

}  // namespace rtrain::engine
