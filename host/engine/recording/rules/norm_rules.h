// host/engine/recording/rules/norm_rules.h: the rules of LayerNorm and of its backward.
#pragma once

#include "host/engine/recording/formula.h"

namespace rtrain::engine {

bool add_layer_norm(Formula& formula);
bool add_layer_norm_backward(Formula& formula);

}  // namespace rtrain::engine
