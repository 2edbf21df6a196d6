// host/compile/kernel_function.h: the CUDA function of a region, from its parameters on.
#pragma once

#include <string>
#include <vector>

#include "host/compile/kernel_schedule.h"
#include "host/compile/region.h"

namespace rtrain::compile {

// `column_sums`: the outputs that are sums of columns. The function writes partial ones.
// REQUIRES: region is lowered, its dimensions are joined.
std::string kernel_function(const Region& region, const KernelSchedule& schedule,
                            const std::vector<size_t>& column_sums);

}  // namespace rtrain::compile
