// host/engine/recording/formula_check.h: tries formulas that call functions: whether they give the
// bits of LibTorch's operator depends on its version, how it was built, and the processor.
#pragma once

#include <cstdint>
#include <vector>

#include "host/engine/recording/record.h"

namespace rtrain::engine {

// Whether a region gives the bits of the operator for such arguments. Each operator is tried once
// for each set of arguments that are not tensors, and each width of rows. `sizes` are those of the
// region. REQUIRES: RegionBuilder::add() takes the call.
bool gives_bits_of_operator(const Record& record, const RecordedCall& call,
                            const std::vector<int64_t>& sizes, bool has_rows);

}  // namespace rtrain::engine
