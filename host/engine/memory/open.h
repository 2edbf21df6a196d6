// host/engine/memory/open.h: the functions of this folder in `torch._C`.
#pragma once

#include <span>

#include "host/engine/runtime/guard.h"
#include "host/lua/class.h"

namespace rtrain::engine {

std::span<const lua::Method> scope_functions();  // scope
std::span<const lua::Method>
stats_functions();  // memory_stats, reset_peak_memory_stats, step_boundary

}  // namespace rtrain::engine
