// host/engine/data/data.cpp: torch._C.read_idx and torch._C.data.Loader.
#include <array>
#include <memory>

#include "host/base/text.h"
#include "host/engine/data/idx.h"
#include "host/engine/data/loader.h"
#include "host/engine/engine.h"
#include "host/engine/files/tree.h"
#include "host/engine/guard.h"
#include "host/engine/operators/options.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain {
namespace {

int submit(lua_State* L);
int next(lua_State* L);
int clear(lua_State* L);
int in_flight(lua_State* L);

}  // namespace

template <>
struct Class<Loader> {
  using Slot = std::unique_ptr<Loader>;
  static constexpr const char* kName = "torch.data.Loader";
  static constexpr std::array kMethods = {
      torch_method<&submit>("submit"), torch_method<&next>("next"), torch_method<&clear>("clear"),
      torch_method<&in_flight>("in_flight")};
};

namespace {

int read_idx_file(lua_State* L) {
  push_tensor(L, read_idx(luaL_checkstring(L, 1)));
  return 1;
}

int new_loader(lua_State* L) {
  const Options given(L, 1, "Loader", {"blob", "num_workers", "prefetch_factor", "timeout_s"});
  const HostApi& api = host(L);
  if (api.new_state == nullptr || api.close_state == nullptr) {
    throw Error(Code::kUnsupported, "this program has no worker threads for a DataLoader");
  }
  LoaderOptions options;
  options.function = given.text("blob", "");
  options.num_workers = static_cast<int>(given.integer("num_workers", 1));
  options.prefetch_factor = static_cast<int>(given.integer("prefetch_factor", 2));
  options.timeout = given.seconds("timeout_s", options.timeout);
  push<Loader>(L, std::make_unique<Loader>(api, std::move(options)));
  return 1;
}

int submit(lua_State* L) {
  Loader& loader = *check<Loader>(L, 1);
  lua_pushboolean(L, loader.submit(to_tree(L, 2, "request")));
  return 1;
}

int next(lua_State* L) {
  const std::vector<Tree> values = check<Loader>(L, 1)->next();
  luaL_checkstack(L, static_cast<int>(values.size()), "too many values in a batch");
  for (const Tree& value : values) push_tree(L, value);
  return static_cast<int>(values.size());
}

int clear(lua_State* L) {
  check<Loader>(L, 1)->clear();
  return 0;
}

int in_flight(lua_State* L) {
  lua_pushnumber(L, static_cast<double>(check<Loader>(L, 1)->in_flight()));
  return 1;
}

}  // namespace

void open_data(lua_State* L) {
  static constexpr std::array kFunctions = {torch_method<&new_loader>("Loader")};
  register_class<Loader>(L);
  push_functions(L, kFunctions);
  lua_setfield(L, -2, "data");
  lua_pushcfunction(L, torch_method<&read_idx_file>("read_idx").function());
  lua_setfield(L, -2, "read_idx");
}

}  // namespace rtrain
