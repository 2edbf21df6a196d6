#include "host/engine/tensor/shard_guard.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::engine {
namespace {

// The one key of LibTorch that wraps tensors and has no kernels.
constexpr c10::DispatchKey kKey = c10::DispatchKey::TESTING_ONLY_GenericWrapper;

thread_local int scopes = 0;

bool is_marked(const at::Tensor& tensor) {
  return tensor.defined() && tensor.unsafeGetTensorImpl()->key_set().has(kKey);
}

// Tensors that share a shard's metadata, such as detach(), share its mark.
struct ShardMeta : c10::BackendMeta {
  ShardMeta(ShardMark given, int64_t count) : mark(std::move(given)), end(mark.begin + count) {}

  ShardMark mark;
  int64_t end;
};

const ShardMeta* meta_of(const at::Tensor& tensor) {
  return dynamic_cast<ShardMeta*>(tensor.unsafeGetTensorImpl()->get_backend_meta());
}

// Gives access to a protected member.
struct Keys : c10::TensorImpl {
  static void add(c10::TensorImpl& tensor) {
    c10::DispatchKeySet& keys = tensor.*(&Keys::key_set_);
    keys = keys.add(kKey);
  }
};

std::string text_of(const at::Tensor& shard) {
  const ShardMeta* meta = meta_of(shard);
  if (meta == nullptr) return "a part of a sharded parameter";
  const ShardMark& mark = meta->mark;
  const std::string what = cat("'", mark.name, "' is sharded (fully_shard): this rank has ");
  if (mark.begin == meta->end) return cat(what, "none of its ", mark.num_rows, " rows");
  if (mark.begin + 1 == meta->end) return cat(what, "row ", mark.begin, " of ", mark.num_rows);
  return cat(what, "the rows ", mark.begin, " to ", meta->end - 1, " of ", mark.num_rows);
}

void collect(const c10::IValue& value, std::vector<at::Tensor>& out) {
  if (value.isTensor()) {
    if (is_marked(value.toTensor())) out.push_back(value.toTensor());
  } else if (value.isTensorList() || value.isOptionalTensorList() || value.isList()) {
    for (const c10::IValue& item : value.toListRef()) collect(item, out);
  }
}

const at::Tensor* of_shape(const std::vector<at::Tensor>& shards, const at::Tensor& tensor) {
  const auto found = std::ranges::find_if(
      shards, [&](const at::Tensor& each) { return each.sizes() == tensor.sizes(); });
  return found == shards.end() ? nullptr : &*found;
}

// Marks a result of a shard's shape like the shard: it has the same rows. Returns false for a
// result of another shape.
bool mark_result(const c10::IValue& result, const std::vector<at::Tensor>& shards) {
  if (result.isTensor()) {
    const at::Tensor& tensor = result.toTensor();
    if (!tensor.defined() || is_marked(tensor)) return true;
    const at::Tensor* shard = of_shape(shards, tensor);
    if (shard == nullptr) return false;
    mark_as(tensor, *shard);
    return true;
  }
  if (!result.isList()) return result.isNone();
  return std::ranges::all_of(result.toListRef(),
                             [&](const c10::IValue& item) { return mark_result(item, shards); });
}

// A change in place, a view, or memory of the same kind.
bool is_harmless(const c10::FunctionSchema& schema) {
  const std::string_view name = schema.name();
  if (!name.starts_with("aten::") || name.starts_with("aten::new_")) return true;
  if (name == "aten::_has_compatible_shallow_copy_type") return true;
  if (schema.is_mutable()) return true;
  return std::ranges::any_of(
      schema.returns(), [](const c10::Argument& each) { return each.alias_info() != nullptr; });
}

void guard(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard exclude(kKey);
  const c10::FunctionSchema& schema = op.schema();
  if (scopes > 0) return op.callBoxed(stack);
  std::vector<at::Tensor> shards;
  for (const c10::IValue& argument : torch::jit::last(*stack, schema.arguments().size())) {
    collect(argument, shards);
  }
  const std::string_view name =
      std::string_view(schema.name()).substr(schema.name().find("::") + 2);
  const bool is_copy = name == "_to_copy" || name == "clone" || name.ends_with("_like");
  const bool has_gradient =
      c10::GradMode::is_enabled() &&
      std::ranges::any_of(shards, [](const at::Tensor& each) { return each.requires_grad(); });
  if (has_gradient && !is_harmless(schema) && !is_copy) {
    throw Error(Code::kUser,
                cat(name, ": ", text_of(shards[0]),
                    ". It is whole in the forward of the module that was sharded: compute with it "
                    "there, or call module:unshard() before and module:reshard() after it"));
  }
  op.callBoxed(stack);
  if (is_harmless(schema)) return;
  for (const c10::IValue& result : torch::jit::last(*stack, schema.returns().size())) {
    if (mark_result(result, shards)) continue;
    throw Error(
        Code::kUser,
        cat(name, ": ", text_of(shards[0]),
            ", so that this would be of these rows alone. Gather it first, p:full_tensor(), "
            "which every rank calls; for the norm of gradients there is "
            "torch.nn.utils.clip_grad_norm_"));
  }
}

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericWrapper, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&guard>());
}

}  // namespace

void mark_shard(const at::Tensor& tensor, ShardMark mark) {
  c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  impl.set_backend_meta(c10::make_intrusive<ShardMeta>(std::move(mark), tensor.size(0)));
  Keys::add(impl);
}

void mark_as(const at::Tensor& tensor, const at::Tensor& shard) {
  if (!is_marked(shard)) return;
  c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  impl.set_backend_meta(shard.unsafeGetTensorImpl()->get_backend_meta_intrusive_ptr());
  Keys::add(impl);
}

int64_t shard_number(const at::Tensor& tensor) {
  const ShardMeta* meta = is_marked(tensor) ? meta_of(tensor) : nullptr;
  return meta == nullptr ? 0 : meta->mark.number;
}

at::Tensor unmarked(const at::Tensor& tensor) {
  const at::Tensor rows = at::empty({0}, tensor.options());
  return rows.set_(tensor.storage(), tensor.storage_offset(), tensor.sizes(), tensor.strides());
}

void check_whole(const at::Tensor& tensor, const std::string& what) {
  if (scopes > 0 || !is_marked(tensor)) return;
  throw Error(Code::kUser,
              cat(what, ": ", text_of(tensor),
                  ", so that the others would be missing: save it with train.state or "
                  "torch.distributed.checkpoint, or gather it first, p:full_tensor()"));
}

ShardScope::ShardScope() { enter_shard_scope(); }
ShardScope::~ShardScope() { leave_shard_scope(); }

void enter_shard_scope() { ++scopes; }
void leave_shard_scope() { --scopes; }

}  // namespace rtrain::engine
