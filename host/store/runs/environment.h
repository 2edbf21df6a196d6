// host/store/runs/environment.h: versions and hardware that rtrain runs with, for `rtrain env`.
#pragma once

#include <string>

#include "host/base/value.h"

namespace rtrain::store {

// "0.1.0"
std::string rtrain_version();

// "6.1.0-18-amd64"
std::string kernel_release();

// Environment variables that affect how a run computes: of OpenMP, MKL, CUDA, NCCL, PyTorch and
// rtrain. Masks secrets; leaves out folders and addresses, which differ between runs.
Value recorded_variables();

// Map: version, platform, luajit, libuv, sqlite, libtorch, arrow, cuda, hostname, cores,
// memory_bytes, available_memory_bytes, gpus, gpu_driver, gpu_reason, storage (or nil and
// storage_reason), network. Reads files and asks NVIDIA's driver; does not load LibTorch or
// Arrow.
Value describe_environment();

}  // namespace rtrain::store
