// torch._C.cuda_random: the default generator of each device.
#include <ATen/Context.h>

#include <array>
#include <mutex>

#include "host/engine/cuda/cuda.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/loader_thread.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/tensor/random.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

at::Generator generator_of(lua_State* L, int index) {
  const auto device = static_cast<c10::DeviceIndex>(check_cuda_device(L, index));
  return at::globalContext().defaultGenerator(c10::Device(c10::kCUDA, device));
}

// manual_seed(device, seed)
int manual_seed(lua_State* L) {
  refuse_in_loader_thread("torch.cuda.manual_seed");
  at::Generator generator = generator_of(L, 1);
  const uint64_t seed = check_seed(L, 2);
  const std::lock_guard lock(generator.mutex());
  generator.set_current_seed(seed);
  return 0;
}

// seed(device) → the new seed
int seed(lua_State* L) {
  refuse_in_loader_thread("torch.cuda.seed");
  at::Generator generator = generator_of(L, 1);
  const std::lock_guard lock(generator.mutex());
  push_uint(L, generator.seed());
  return 1;
}

int initial_seed(lua_State* L) {
  at::Generator generator = generator_of(L, 1);
  const std::lock_guard lock(generator.mutex());
  push_uint(L, generator.current_seed());
  return 1;
}

int get_rng_state(lua_State* L) {
  at::Generator generator = generator_of(L, 1);
  at::Tensor state;
  {
    const std::lock_guard lock(generator.mutex());
    state = generator.get_state();
  }
  push_tensor(L, std::move(state));
  return 1;
}

// set_rng_state(device, state)
int set_rng_state(lua_State* L) {
  refuse_in_loader_thread("torch.cuda.set_rng_state");
  at::Generator generator = generator_of(L, 1);
  const at::Tensor& state = check_tensor(L, 2);
  const std::lock_guard lock(generator.mutex());
  generator.set_state(state);
  return 0;
}

}  // namespace

void open_cuda_random(lua_State* L) {
  static constexpr std::array kFunctions = {
      torch_method<&manual_seed>("manual_seed"), torch_method<&seed>("seed"),
      torch_method<&initial_seed>("initial_seed"), torch_method<&get_rng_state>("get_rng_state"),
      torch_method<&set_rng_state>("set_rng_state")};
  lua::push_functions(L, kFunctions);
  lua_setfield(L, -2, "cuda_random");
}

}  // namespace rtrain::engine
