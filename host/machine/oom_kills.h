// host/machine/oom_kills.h: how many processes the kernel has killed because memory ran out.
#pragma once

#include <cstdint>
#include <optional>

namespace rtrain::machine {

// The number for this process's cgroup since it was made; nothing if it is not known.
std::optional<int64_t> oom_kills();

}  // namespace rtrain::machine
