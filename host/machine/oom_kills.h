// host/machine/oom_kills.h: how many processes the kernel has killed for want of memory.
#pragma once

#include <cstdint>
#include <optional>

namespace rtrain::machine {

// Of this process's cgroup, from the beginning; nothing where that is not known.
std::optional<int64_t> oom_kills();

}  // namespace rtrain::machine
