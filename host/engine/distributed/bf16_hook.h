// host/engine/distributed/bf16_hook.h: a communication hook of DistributedDataParallel: gradients
// travel as bfloat16, as Python's bf16_compress_hook makes them.
#pragma once

#include <memory>
#include <torch/csrc/distributed/c10d/comm.hpp>

namespace rtrain {

std::unique_ptr<c10d::CommHookInterface> bf16_compress_hook(
    const c10::intrusive_ptr<c10d::ProcessGroup>& group);

}  // namespace rtrain
