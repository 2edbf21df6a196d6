// host/engine/data/arrow/arrow_node.h: an Arrow array built by the engine, before it is exported.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/api/arrow_batch.h"

namespace rtrain::engine {

struct ArrowNode {
  std::string format;
  std::string name;
  int64_t length = 0;
  int64_t null_count = 0;
  // Undefined for an absent buffer (no nulls). The others are contiguous on the CPU.
  std::vector<at::Tensor> buffers;
  std::vector<std::unique_ptr<ArrowNode>> children;

  ArrowNode* add_child(std::string child_name, std::string child_format, int64_t child_length);
};

// Fills both structs; they share the node.
void export_node(const std::shared_ptr<const ArrowNode>& node, ArrowSchema* schema,
                 ArrowArray* array);

// Packs booleans of one byte each into bits, the first in the lowest bit.
at::Tensor pack_bits(const at::Tensor& booleans);

}  // namespace rtrain::engine
