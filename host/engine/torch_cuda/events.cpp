// torch._C.cuda_events: events in streams.
#include <c10/core/impl/VirtualGuardImpl.h>

#include <array>
#include <memory>

#include "host/engine/cuda/cuda.h"
#include "host/engine/runtime/blocking.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/open.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/torch_cuda/stream.h"
#include "host/lua/class.h"

namespace rtrain::engine {
namespace {

c10::impl::VirtualGuardImpl guard() { return c10::impl::VirtualGuardImpl(c10::kCUDA); }

// The first record() creates the CUDA event, on the device of its stream.
class CudaEvent {
 public:
  explicit CudaEvent(CudaEventKind kind) : kind_(kind) {}
  ~CudaEvent() {
    if (event_ != nullptr) guard().destroyEvent(event_, device_);
  }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  void record(const c10::Stream& stream) {
    if (event_ == nullptr) {
      event_ = need_cuda().events.create(stream.device_index(), kind_);
      device_ = stream.device_index();
    }
    guard().record(&event_, stream, device_, c10::EventFlag::PYTORCH_DEFAULT);
  }
  void block(const c10::Stream& stream) const { guard().block(event_, stream); }
  bool query() const { return guard().queryEvent(event_); }
  void synchronize() const { guard().synchronizeEvent(event_); }
  double elapsed_ms(const CudaEvent& end) const {
    if (!kind_.has_timing || !end.kind_.has_timing) {
      throw Error(Code::kArgument,
                  "elapsed_time: both events need {enable_timing = true} when they are made");
    }
    if (event_ == nullptr || end.event_ == nullptr) {
      throw Error(Code::kArgument, "elapsed_time: both events must have been recorded");
    }
    if (!query() || !end.query()) {
      throw Error(Code::kArgument,
                  "elapsed_time: the device has not come to both events yet: call synchronize() of "
                  "the later one first");
    }
    return guard().elapsedTime(event_, end.event_, device_);
  }
  // -1 before the first record().
  c10::DeviceIndex device() const { return device_; }

 private:
  CudaEventKind kind_;
  void* event_ = nullptr;
  c10::DeviceIndex device_ = -1;
};

}  // namespace
}  // namespace rtrain::engine

template <>
struct rtrain::lua::Class<rtrain::engine::CudaEvent> {
  using Slot = std::unique_ptr<rtrain::engine::CudaEvent>;
  static constexpr const char* kName = "torch._C.CudaEvent";
};

namespace rtrain::engine {
namespace {

struct EventMethods {
  static int record(lua_State* L) {
    lua::check<CudaEvent>(L, 1)->record(check_stream(L, 2));
    return 0;
  }
  static int wait(lua_State* L) {
    lua::check<CudaEvent>(L, 1)->block(check_stream(L, 2));
    return 0;
  }
  static int query(lua_State* L) {
    lua_pushboolean(L, lua::check<CudaEvent>(L, 1)->query() ? 1 : 0);
    return 1;
  }
  static int synchronize(lua_State* L) {
    const CudaEvent& self = *lua::check<CudaEvent>(L, 1);
    const BlockingRegion region(host(L), WaitKind::kOwn, "torch.cuda.Event.synchronize");
    self.synchronize();
    return 0;
  }
  // In milliseconds.
  static int elapsed_time(lua_State* L) {
    lua_pushnumber(L, lua::check<CudaEvent>(L, 1)->elapsed_ms(*lua::check<CudaEvent>(L, 2)));
    return 1;
  }
  static int device_index(lua_State* L) {
    lua_pushinteger(L, lua::check<CudaEvent>(L, 1)->device());
    return 1;
  }

  static constexpr lua::Method kMethods[] = {torch_method<&record>("record"),
                                             torch_method<&wait>("wait"),
                                             torch_method<&query>("query"),
                                             torch_method<&synchronize>("synchronize"),
                                             torch_method<&elapsed_time>("elapsed_time"),
                                             torch_method<&device_index>("device_index")};
};

}  // namespace

namespace {

// new(enable_timing, blocking)
int new_event(lua_State* L) {
  need_cuda();
  const CudaEventKind kind{.has_timing = lua_toboolean(L, 1) != 0,
                           .is_blocking = lua_toboolean(L, 2) != 0};
  lua::push<CudaEvent>(L, std::make_unique<CudaEvent>(kind));
  return 1;
}

}  // namespace

void open_cuda_events(lua_State* L) {
  static constexpr std::array kFunctions = {torch_method<&new_event>("new")};
  lua::register_class<CudaEvent>(L, EventMethods::kMethods);
  lua::push_functions(L, kFunctions);
  lua_setfield(L, -2, "cuda_events");
}

}  // namespace rtrain::engine
