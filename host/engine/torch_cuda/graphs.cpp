// torch._C.cuda_graphs: captures the work of a stream once and replays it as a whole.
// modules/torch/cuda/graphs.lua describes a capture.
#include <c10/util/ScopeExit.h>

#include <array>

#include "host/base/error.h"
#include "host/engine/cuda/cuda.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/open.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/runtime/vm.h"
#include "host/engine/tensor/random.h"
#include "host/engine/torch_cuda/capture_gate.h"
#include "host/lua/class.h"

namespace rtrain::engine {
namespace {

constexpr std::pair<const char*, CudaCaptureMode> kModes[] = {
    {"global", CudaCaptureMode::kGlobal},
    {"thread_local", CudaCaptureMode::kThreadLocal},
    {"relaxed", CudaCaptureMode::kRelaxed}};

CudaCaptureMode check_mode(lua_State* L, int index) {
  const std::string_view text = check_text(L, index, "capture_begin: capture_error_mode");
  for (const auto& [name, mode] : kModes) {
    if (text == name) return mode;
  }
  throw Error(Code::kArgument, cat("capture_begin: capture_error_mode: expected 'global', "
                                   "'thread_local' or 'relaxed', got '",
                                   text, "'"));
}

// Reads a pool: two numbers; {0, 0} if they are absent.
c10::MempoolId_t check_pool(lua_State* L, int index) {
  return {static_cast<c10::CaptureId_t>(to_int(L, index).value_or(0)),
          static_cast<c10::CaptureId_t>(to_int(L, index + 1).value_or(0))};
}

int push_pool(lua_State* L, c10::MempoolId_t pool) {
  push_int(L, static_cast<int64_t>(pool.first));
  push_int(L, static_cast<int64_t>(pool.second));
  return 2;
}

}  // namespace
}  // namespace rtrain::engine

template <>
struct rtrain::lua::Class<rtrain::engine::CudaGraph> {
  using Slot = std::unique_ptr<rtrain::engine::CudaGraph>;
  static constexpr const char* kName = "torch.cuda.CUDAGraph";
};

namespace rtrain::engine {
namespace {

struct GraphMethods {
  // capture_begin(mode, pool…)
  static int capture_begin(lua_State* L) {
    CudaGraph& graph = *lua::check<CudaGraph>(L, 1);
    const auto pool = check_pool(L, 3);
    const CudaCaptureMode mode = check_mode(L, 2);
    CaptureGate::of_process().begin_capture();
    auto over = c10::make_scope_exit([] { CaptureGate::of_process().end_capture(); });
    graph.capture_begin(pool, mode);
    over.release();
    return 0;
  }
  static int capture_end(lua_State* L) {
    CudaGraph& graph = *lua::check<CudaGraph>(L, 1);
    const auto over = c10::make_scope_exit([] { CaptureGate::of_process().end_capture(); });
    graph.capture_end();
    return 0;
  }
  static int instantiate(lua_State* L) {
    lua::check<CudaGraph>(L, 1)->instantiate();
    return 0;
  }
  static int replay(lua_State* L) {
    lua::check<CudaGraph>(L, 1)->replay();
    return 0;
  }
  static int reset(lua_State* L) {
    lua::check<CudaGraph>(L, 1)->reset();
    return 0;
  }
  static int pool(lua_State* L) { return push_pool(L, lua::check<CudaGraph>(L, 1)->pool()); }
  static int enable_debug_mode(lua_State* L) {
    lua::check<CudaGraph>(L, 1)->enable_debug_mode();
    return 0;
  }
  static int debug_dump(lua_State* L) {
    lua::check<CudaGraph>(L, 1)->debug_dump(
        std::string(check_text(L, 2, "debug_dump: debug_path")));
    return 0;
  }
  static int register_generator(lua_State* L) {
    const at::Generator* generator = test_generator(L, 2);
    if (generator == nullptr) {
      throw Error(Code::kArgument,
                  cat("register_generator_state: expected a Generator, got ", luaL_typename(L, 2)));
    }
    lua::check<CudaGraph>(L, 1)->register_generator(*generator);
    return 0;
  }

  static constexpr lua::Method kMethods[] = {
      torch_method<&capture_begin>("capture_begin"),
      torch_method<&capture_end>("capture_end"),
      torch_method<&instantiate>("instantiate"),
      torch_method<&replay>("replay"),
      torch_method<&reset>("reset"),
      torch_method<&pool>("pool"),
      torch_method<&enable_debug_mode>("enable_debug_mode"),
      torch_method<&debug_dump>("debug_dump"),
      torch_method<&register_generator>("register_generator_state")};
};

}  // namespace

namespace {

// new(keep_graph)
int new_graph(lua_State* L) {
  lua::push<CudaGraph>(L, need_cuda().graphs.create(lua_toboolean(L, 1) != 0));
  return 1;
}

int graph_pool_handle(lua_State* L) { return push_pool(L, need_cuda().graphs.new_pool()); }

int is_current_stream_capturing(lua_State* L) {
  const CudaApi* api = cuda_api();
  lua_pushboolean(L, api != nullptr && api->graphs.is_current_stream_capturing() ? 1 : 0);
  return 1;
}

// Pauses garbage collection until the function returns: freeing tensors may submit work to the
// device, which would become part of the capture or break it.
class CollectorPause {
 public:
  explicit CollectorPause(lua_State* L) : L_(L), vm_(vm(L)), before_(vm_.collecting) {
    vm_.collecting = true;
    lua_gc(L_, LUA_GCSTOP, 0);
  }
  ~CollectorPause() {
    vm_.collecting = before_;
    lua_gc(L_, LUA_GCRESTART, 0);
  }
  CollectorPause(const CollectorPause&) = delete;
  CollectorPause& operator=(const CollectorPause&) = delete;

 private:
  lua_State* L_;
  Vm& vm_;
  bool before_;
};

// without_collector(fn, …) → the results of fn(…).
int without_collector(lua_State* L) {
  check_callable(L, 1, "without_collector: fn");
  const CollectorPause pause(L);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

}  // namespace

void open_cuda_graphs(lua_State* L) {
  static constexpr std::array kFunctions = {
      torch_method<&new_graph>("new"), torch_method<&graph_pool_handle>("graph_pool_handle"),
      torch_method<&is_current_stream_capturing>("is_current_stream_capturing"),
      torch_method<&without_collector>("without_collector")};
  lua::register_class<CudaGraph>(L, GraphMethods::kMethods);
  lua::push_functions(L, kFunctions);
  lua_setfield(L, -2, "cuda_graphs");
}

}  // namespace rtrain::engine
