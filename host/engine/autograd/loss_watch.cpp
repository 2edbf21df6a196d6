#include "host/engine/autograd/loss_watch.h"

#include <ATen/Functions.h>

#include <cmath>
#include <deque>
#include <utility>

#include "host/engine/autograd/autograd.h"
#include "host/engine/memory/allocator.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/recording_listener.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {

struct KeptLosses {
  struct Loss {
    at::Tensor value;
    int64_t step;
  };
  std::deque<Loss> newest;
};

namespace {

constexpr size_t kMostLosses = 256;

double number_of(const at::Tensor& loss) {
  if (loss.scalar_type() == at::kFloat) return *loss.const_data_ptr<float>();
  if (loss.scalar_type() == at::kDouble) return *loss.const_data_ptr<double>();
  return loss.item<double>();
}

void keep(Vm& vm, const at::Tensor& loss) {
  if (is_capturing()) return;  // the capture's memory belongs to the graph
  auto& newest = vm.kept_losses->newest;
  newest.push_back({loss.detach(), vm.num_steps});
  if (newest.size() > kMostLosses) newest.pop_front();
}

// watch_losses(fn or nil, is_every?)
int watch_losses(lua_State* L) {
  Vm& own = vm(L);
  luaL_unref(L, LUA_REGISTRYINDEX, std::exchange(own.loss_found_ref, LUA_NOREF));
  own.kept_losses.reset();
  if (lua_isnoneornil(L, 1)) return 0;
  check_callable(L, 1, "watch_losses: fn");
  own.sees_every_loss = lua_toboolean(L, 2) != 0;
  lua_settop(L, 1);
  own.loss_found_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  own.kept_losses = std::make_shared<KeptLosses>();
  return 0;
}

// take_losses() → list of losses, list of the steps before each
int take_losses(lua_State* L) {
  Vm& own = vm(L);
  std::deque<KeptLosses::Loss> losses;
  if (own.kept_losses) losses.swap(own.kept_losses->newest);
  lua_createtable(L, static_cast<int>(losses.size()), 0);
  lua_createtable(L, static_cast<int>(losses.size()), 0);
  for (size_t i = 0; i < losses.size(); ++i) {
    push_tensor(L, losses[i].value);
    lua_rawseti(L, -3, static_cast<int>(i) + 1);
    lua_pushinteger(L, losses[i].step);
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  return 2;
}

int num_steps(lua_State* L) {
  lua_pushinteger(L, vm(L).num_steps);
  return 1;
}

constexpr lua::Method kFunctions[] = {
    torch_method<&watch_losses>("watch_losses"),
    torch_method<&take_losses>("take_losses"),
    torch_method<&num_steps>("num_steps"),
};

}  // namespace

void see_loss(Vm& vm, lua_State* L, const at::Tensor& loss) {
  if (RecordingListener* listener = RecordingListener::current()) listener->add_loss(loss);
  if (vm.loss_found_ref == LUA_NOREF || loss.numel() != 1 || !loss.is_floating_point()) return;
  const bool waits = vm.sees_every_loss && !is_capturing();
  if (!loss.is_cpu() && !waits) return keep(vm, loss);
  const double number = loss.is_cpu() ? number_of(loss) : loss.item<double>();
  if (std::isfinite(number) && !vm.sees_every_loss) return;
  lua_rawgeti(L, LUA_REGISTRYINDEX, vm.loss_found_ref);
  lua_pushnumber(L, number);
  lua_call(L, 1, 0);
}

std::span<const lua::Method> loss_watch_functions() { return kFunctions; }

}  // namespace rtrain::engine
