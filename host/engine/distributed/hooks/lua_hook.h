// host/engine/distributed/hooks/lua_hook.h: a communication hook of DistributedDataParallel that is
// a Lua function.
//
// LibTorch calls it for each bucket during backward(), on the thread that called backward(): the
// Lua state's thread. The reducer is locked meanwhile, so calls that would lock it again (a forward
// of a DDP model, a backward, destroying the process group) are refused
// (host/engine/runtime/comm_hook.h).
//
// The function gets a GradBucket. For the last bucket of a backward it returns the list of tensors
// that replace the buckets, by bucket index; for other buckets it returns nothing.
#pragma once

#include <memory>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <vector>

#include "host/engine/runtime/callback.h"
#include "host/lua/class.h"

namespace rtrain::engine {

// One bucket, passed to the function. It may be kept; LibTorch's own refers to its reducer.
struct CommBucket {
  size_t index = 0;
  bool is_last = false;
  at::Tensor buffer;  // all gradients of the bucket, concatenated
  std::vector<at::Tensor> parameters;

  // Views into the buffer with the parameters' shapes. Throws Error(kArgument) if the buffer has
  // another size.
  std::vector<at::Tensor> gradients() const;
};

}  // namespace rtrain::engine

template <>
struct rtrain::lua::Class<rtrain::engine::CommBucket> {
  using Slot = std::shared_ptr<rtrain::engine::CommBucket>;
  static constexpr const char* kName = "torch.distributed.GradBucket";
};

namespace rtrain::engine {

class LuaCommHook final : public c10d::CommHookInterface {
 public:
  explicit LuaCommHook(std::unique_ptr<Callback> function) : function_(std::move(function)) {}

  // Throws the function's error as Error.
  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override;
  at::Tensor parseHookResult(const c10::IValue& result) override;

 private:
  void end(lua_State* L);

  std::unique_ptr<Callback> function_;
  // The futures of this backward's buckets so far.
  std::vector<c10::intrusive_ptr<c10::ivalue::Future>> begun_;
};

void register_comm_bucket(lua_State* L);

}  // namespace rtrain::engine
