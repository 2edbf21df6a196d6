// host/engine/distributed/lua_hook.h: a communication hook of DistributedDataParallel that is a Lua
// function.
//
// LibTorch calls it for each bucket during backward(), on the thread that called backward(): the
// thread of the Lua state. The reducer is locked meanwhile, so what would lock it again (a forward
// of a DDP model, a backward, the end of the process group) is refused there
// (host/engine/runtime/comm_hook.h).
//
// The function is called with a GradBucket. Behind the last bucket of a backward it returns the
// list of the tensors that take the places of the buckets, by their index; before that nothing.
#pragma once

#include <memory>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <vector>

#include "host/engine/runtime/callback.h"
#include "host/lua/class.h"

namespace rtrain {

// One bucket, as the function sees it. Safe to keep: LibTorch's own refers to its reducer.
struct CommBucket {
  size_t index = 0;
  bool is_last = false;
  at::Tensor buffer;  // of all gradients, one behind the other
  std::vector<at::Tensor> parameters;

  // Views into the buffer, in the shapes of the parameters. Throws Error(kArgument) for a buffer of
  // another size.
  std::vector<at::Tensor> gradients() const;
};

template <>
struct Class<CommBucket> {
  using Slot = std::shared_ptr<CommBucket>;
  static constexpr const char* kName = "torch.distributed.GradBucket";
};

class LuaCommHook final : public c10d::CommHookInterface {
 public:
  explicit LuaCommHook(std::unique_ptr<Callback> function) : function_(std::move(function)) {}

  // Throws Error with what the function has raised.
  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override;
  at::Tensor parseHookResult(const c10::IValue& result) override;

 private:
  void end(lua_State* L);

  std::unique_ptr<Callback> function_;
  // Of this backward's buckets so far.
  std::vector<c10::intrusive_ptr<c10::ivalue::Future>> begun_;
};

void register_comm_bucket(lua_State* L);

}  // namespace rtrain
