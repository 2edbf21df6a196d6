// host/engine/recording/operator_traits.h: what a recording has to know of operators and their
// schema does not say.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <string_view>

namespace rtrain::engine {

// Whether it writes to its arguments running_mean and running_var.
bool writes_statistics(std::string_view name);

// Whether the numbers among its results follow from sizes: attention's longest sequences.
bool gives_sizes(std::string_view name);

// Whether the operator only calls others. Autograd resolves these; in inference mode they come to
// the recording. What they call depends on more than their arguments: on requires_grad, for
// example.
bool is_composite(const c10::OperatorHandle& op);

}  // namespace rtrain::engine
