#include "host/engine/data/arrow/arrow_node.h"

#include <ATen/ops/zeros.h>

namespace rtrain::engine {
namespace {

constexpr int64_t kNullable = 2;  // ARROW_FLAG_NULLABLE

// Memory that a struct and its children point to. The struct's private_data owns it.
template <class Struct>
struct Held {
  std::shared_ptr<const ArrowNode> node;
  std::vector<const void*> buffers;
  std::vector<Struct> children;
  std::vector<Struct*> pointers;
};

template <class Struct>
void release(Struct* self) {
  auto* held = static_cast<Held<Struct>*>(self->private_data);
  for (Struct& child : held->children) {
    if (child.release != nullptr) child.release(&child);
  }
  self->release = nullptr;
  delete held;
}

template <class Struct>
Held<Struct>* hold(const std::shared_ptr<const ArrowNode>& node, Struct* out) {
  auto* held = new Held<Struct>{node, {}, std::vector<Struct>(node->children.size()), {}};
  for (Struct& child : held->children) held->pointers.push_back(&child);
  *out = Struct{};
  out->n_children = static_cast<int64_t>(held->children.size());
  out->children = held->pointers.data();
  out->release = &release<Struct>;
  out->private_data = held;
  return held;
}

}  // namespace

ArrowNode* ArrowNode::add_child(std::string child_name, std::string child_format,
                                int64_t child_length) {
  auto& child = children.emplace_back(std::make_unique<ArrowNode>());
  child->name = std::move(child_name);
  child->format = std::move(child_format);
  child->length = child_length;
  return child.get();
}

void export_node(const std::shared_ptr<const ArrowNode>& node, ArrowSchema* schema,
                 ArrowArray* array) {
  auto* held_schema = hold(node, schema);
  schema->format = node->format.c_str();
  schema->name = node->name.c_str();
  schema->flags = kNullable;
  auto* held_array = hold(node, array);
  for (const at::Tensor& buffer : node->buffers) {
    held_array->buffers.push_back(buffer.defined() ? buffer.const_data_ptr() : nullptr);
  }
  array->length = node->length;
  array->null_count = node->null_count;
  array->n_buffers = static_cast<int64_t>(held_array->buffers.size());
  array->buffers = held_array->buffers.data();
  for (size_t i = 0; i < node->children.size(); ++i) {
    const std::shared_ptr<const ArrowNode> child(node, node->children[i].get());
    export_node(child, &held_schema->children[i], &held_array->children[i]);
  }
}

at::Tensor pack_bits(const at::Tensor& booleans) {
  const at::Tensor flat = booleans.contiguous();
  const int64_t count = flat.numel();
  at::Tensor out = at::zeros({(count + 7) / 8}, at::TensorOptions().dtype(at::kByte));
  const bool* from = flat.const_data_ptr<bool>();
  auto* to = out.mutable_data_ptr<uint8_t>();
  for (int64_t i = 0; i < count; ++i) to[i >> 3] |= static_cast<uint8_t>(from[i] << (i & 7));
  return out;
}

}  // namespace rtrain::engine
