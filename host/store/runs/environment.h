// host/store/runs/environment.h: what rtrain is made of and stands on, as `rtrain env` shows it.
#pragma once

#include <string>

#include "host/base/value.h"

namespace rtrain {

// "0.1.0"
std::string rtrain_version();

// "6.1.0-18-amd64"
std::string kernel_release();

// The variables that change how a run computes: of OpenMP, MKL, CUDA, NCCL, PyTorch and rtrain.
// Secrets are masked; folders and addresses, which differ from run to run, are left out.
Value recorded_variables();

// Map: version, platform, luajit, libuv, sqlite, libtorch, arrow, cuda, hostname, cores,
// memory_bytes, available_memory_bytes, gpus, gpu_driver, gpu_reason, storage (nil with
// storage_reason), network. Looks at files and asks NVIDIA's driver; loads neither LibTorch nor
// Arrow.
Value describe_environment();

}  // namespace rtrain
