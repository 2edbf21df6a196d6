// host/engine/files/tree.h: plain values and tensors outside any Lua state: what a `.pt` file holds
// and what a loader's batch is.
//
// nil, boolean, integer (uint64_t only beyond int64), float, complex, string, tensor, list, map.
// Lists and maps are shared: two places that held one table hold one node, and get one table again.
// A tree may cross threads; a node must not be changed once it was handed over.
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

namespace rtrain {

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

// The value at the index, by the rules of host/lua/convert.h plus tensors. Throws Error(kArgument)
// that names the path to what cannot be stored; `what` begins that path.
Tree to_tree(lua_State* L, int index, std::string_view what);

// Pushes the value; ordered maps become `base.ordered`, maps with integer keys the marked integer
// map.
void push_tree(lua_State* L, const Tree& tree);

}  // namespace rtrain
