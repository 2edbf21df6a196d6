// host/engine/distributed/hooks/bf16_hook.h: DistributedDataParallel's communication hook that
// reduces gradients as bfloat16, like Python's bf16_compress_hook.
#pragma once

#include <memory>
#include <torch/csrc/distributed/c10d/comm.hpp>

namespace rtrain::engine {

std::unique_ptr<c10d::CommHookInterface> bf16_compress_hook(
    const c10::intrusive_ptr<c10d::ProcessGroup>& group);

}  // namespace rtrain::engine
