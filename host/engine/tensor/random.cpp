#include "host/engine/tensor/random.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>

#include <memory>
#include <mutex>

#include "host/engine/cuda/cuda.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/loader_thread.h"
#include "host/engine/runtime/open.h"
#include "host/engine/runtime/recording_listener.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {

uint64_t check_seed(lua_State* L, int index) {
  if (const auto seed = to_int(L, index)) return static_cast<uint64_t>(*seed);
  const auto seed = to_scalar(L, index);
  if (seed && seed->type() == at::kUInt64) return seed->toUInt64();
  const double number = seed && seed->isFloatingPoint() ? seed->toDouble() : 0;
  if (number >= 0x1p63 && number < 0x1p64) return static_cast<uint64_t>(number);
  throw Error(Code::kArgument, cat("seed: expected an integer, got ", describe_value(L, index)));
}

namespace {

const at::Generator& default_generator() { return at::detail::getDefaultCPUGenerator(); }

int push_seed(lua_State* L, at::Generator generator) {
  const std::lock_guard lock(generator.mutex());
  push_uint(L, generator.current_seed());
  return 1;
}

at::Tensor state_of(at::Generator generator) {
  const std::lock_guard lock(generator.mutex());
  return generator.get_state();
}

constexpr const char* kSetsState = "it sets the state of random numbers";

void set_state(at::Generator generator, const at::Tensor& state) {
  refuse_in_recording(kSetsState);
  const std::lock_guard lock(generator.mutex());
  generator.set_state(state);
}

int initial_seed(lua_State* L) { return push_seed(L, default_generator()); }

int reseed(lua_State* L, at::Generator generator) {
  refuse_in_recording(kSetsState);
  {
    const std::lock_guard lock(generator.mutex());
    generator.seed();
  }
  return push_seed(L, generator);
}

int seed(lua_State* L) {
  refuse_in_loader_thread("torch.seed");
  return reseed(L, default_generator());
}

int get_rng_state(lua_State* L) {
  push_tensor(L, state_of(default_generator()));
  return 1;
}

int set_rng_state(lua_State* L) {
  refuse_in_loader_thread("torch.set_rng_state");
  set_state(default_generator(), check_tensor(L, 1));
  return 0;
}

}  // namespace
}  // namespace rtrain::engine

template <>
struct rtrain::lua::Class<at::Generator> {
  using Slot = std::unique_ptr<at::Generator>;
  static constexpr const char* kName = "torch.Generator";
};

namespace rtrain::engine {
namespace {

struct GeneratorMethods {
  static int seed_with(lua_State* L) {
    at::Generator& self = *lua::check<at::Generator>(L, 1);
    const auto number = check_seed(L, 2);
    refuse_in_recording(kSetsState);
    const std::lock_guard lock(self.mutex());
    self.set_current_seed(number);
    lua_settop(L, 1);
    return 1;
  }
  static int seed(lua_State* L) { return reseed(L, *lua::check<at::Generator>(L, 1)); }
  static int clone(lua_State* L) {
    const at::Generator& self = *lua::check<at::Generator>(L, 1);
    lua::push<at::Generator>(L, std::make_unique<at::Generator>(self.clone()));
    return 1;
  }
  static int to_string(lua_State* L) {
    const std::string text =
        cat("torch.Generator(", lua::check<at::Generator>(L, 1)->device().str(), ")");
    lua_pushlstring(L, text.data(), text.size());
    return 1;
  }
  static int get_seed(lua_State* L) { return push_seed(L, *lua::check<at::Generator>(L, 1)); }
  static int get_state(lua_State* L) {
    push_tensor(L, state_of(*lua::check<at::Generator>(L, 1)));
    return 1;
  }
  // Serializes the generator: another process or thread gets its own one, which continues from
  // here.
  static int pack(lua_State* L) {
    const at::Generator& self = *lua::check<at::Generator>(L, 1);
    if (self.device().is_cuda()) {
      throw Error(Code::kUnsupported,
                  "a Generator of a GPU belongs to one process: send its seed, or its get_state()");
    }
    lua_pushliteral(L, "torch._C");
    lua_pushliteral(L, "unpack_generator");
    push_tensor(L, state_of(self));
    return 3;
  }
  static int change_state(lua_State* L) {
    set_state(*lua::check<at::Generator>(L, 1), check_tensor(L, 2));
    lua_settop(L, 1);
    return 1;
  }

  static constexpr lua::Method kMethods[] = {
      torch_method<&seed_with>("manual_seed"),  torch_method<&get_seed>("initial_seed"),
      torch_method<&to_string>("__tostring"),   torch_method<&seed>("seed"),
      torch_method<&clone>("clone_state"),      torch_method<&get_state>("get_state"),
      torch_method<&change_state>("set_state"), torch_method<&pack>("__pack")};
};

}  // namespace

at::Generator* test_generator(lua_State* L, int index) {
  auto* slot = lua::test<at::Generator>(L, index);
  return slot != nullptr ? slot->get() : nullptr;
}

namespace {

at::Generator new_generator(c10::Device device) {
  if (device.is_cpu()) return at::detail::createCPUGenerator();
  if (!device.is_cuda()) {
    throw Error(Code::kArgument, cat("Generator: there is none on '", device.str(), "'"));
  }
  need_cuda();
  return at::globalContext()
      .getAcceleratorHooksInterface(device.type())
      .getNewGenerator(device.index());
}

// generator(seed?, device = 'cpu'): a separate stream of random numbers, for the operators' keyword
// `generator`.
int generator(lua_State* L) {
  const c10::Device device =
      lua_isnoneornil(L, 2) ? c10::Device(c10::kCPU) : check_device(L, 2, "Generator: device");
  auto out = std::make_unique<at::Generator>(new_generator(device));
  if (!lua_isnoneornil(L, 1)) out->set_current_seed(check_seed(L, 1));
  lua::push<at::Generator>(L, std::move(out));
  return 1;
}

// Makes a generator with this state.
int unpack_generator(lua_State* L) {
  auto out = std::make_unique<at::Generator>(at::detail::createCPUGenerator());
  out->set_state(check_tensor(L, 1));
  lua::push<at::Generator>(L, std::move(out));
  return 1;
}

int push_default_generator(lua_State* L) {
  lua::push<at::Generator>(L, std::make_unique<at::Generator>(default_generator()));
  return 1;
}

int manual_seed(lua_State* L) {
  refuse_in_recording(kSetsState);
  refuse_in_loader_thread("torch.manual_seed");
  at::manual_seed(check_seed(L, 1));
  return push_default_generator(L);
}

constexpr lua::Method kFunctions[] = {torch_method<&manual_seed>("manual_seed"),
                                      torch_method<&initial_seed>("initial_seed"),
                                      torch_method<&seed>("seed"),
                                      torch_method<&get_rng_state>("get_rng_state"),
                                      torch_method<&set_rng_state>("set_rng_state"),
                                      torch_method<&generator>("generator"),
                                      torch_method<&unpack_generator>("unpack_generator")};

// generator.device, and its methods.
int index(lua_State* L) {
  const std::string_view name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (name == "device") {
    lua_pushstring(L, lua::check<at::Generator>(L, 1)->device().str().c_str());
  } else {
    lua_pushvalue(L, 2);
    lua_rawget(L, lua_upvalueindex(1));
  }
  return 1;
}

void add_device(lua_State* L) {
  luaL_getmetatable(L, lua::Class<at::Generator>::kName);
  lua_getfield(L, -1, "__index");
  push_torch_function<&index>(L, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}

}  // namespace

void open_random(lua_State* L) {
  lua::register_class<at::Generator>(L, GeneratorMethods::kMethods);
  lua::add_functions(L, kFunctions);
  add_device(L);
  push_default_generator(L);
  lua_setfield(L, -2, "default_generator");
}

}  // namespace rtrain::engine
