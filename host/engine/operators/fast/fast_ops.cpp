#include "host/engine/operators/fast/fast_ops.h"

#include "host/engine/operators/fast/fast_op.h"

namespace rtrain::engine {

lua_CFunction find_fast_op(std::string_view name) {
  for (const auto& ops : {fast::arithmetic_ops(), fast::creation_ops(), fast::layer_ops(),
                          fast::reduction_ops(), fast::selection_ops(), fast::shape_ops()}) {
    for (const fast::FastOp& op : ops) {
      if (op.name == name) return op.function;
    }
  }
  return nullptr;
}

}  // namespace rtrain::engine
