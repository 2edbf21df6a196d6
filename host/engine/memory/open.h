// host/engine/memory/open.h: what the files of this folder add to `torch._C`.
#pragma once

#include <span>

#include "host/engine/runtime/guard.h"
#include "host/lua/class.h"

namespace rtrain {

std::span<const Method> scope_functions();  // scope
std::span<const Method> stats_functions();  // memory_stats, reset_peak_memory_stats, step_boundary

}  // namespace rtrain
