// host/store/environment.h: what rtrain is made of and stands on, as `rtrain env` shows it.
#pragma once

#include <string>

#include "host/base/value.h"

namespace rtrain {

// "0.1.0"
std::string rtrain_version();

// Map: version, platform, luajit, libuv, sqlite, libtorch, arrow, cuda, hostname, cores,
// memory_bytes, available_memory_bytes, gpus, gpu_driver, gpu_reason, storage, network. Looks at
// files and asks NVIDIA's driver; loads neither LibTorch nor Arrow.
Value describe_environment();

// Where runs go when nothing else says so: $RTRAIN_STORAGE, else ~/rtrain_results. Absolute.
std::string default_storage();

}  // namespace rtrain
