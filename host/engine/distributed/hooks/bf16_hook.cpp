#include "host/engine/distributed/hooks/bf16_hook.h"

#include <vector>

namespace rtrain::engine {
namespace {

class Bf16Hook final : public c10d::CppCommHookInterface<c10::intrusive_ptr<c10d::ProcessGroup>> {
 public:
  using CppCommHookInterface::CppCommHookInterface;

  // Divides before the sum, so that the sum over many ranks stays in bfloat16's range.
  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    const at::Tensor gradients = bucket.getBuffer();
    std::vector<at::Tensor> travelling{gradients.to(at::kBFloat16).div_(state_->getSize())};
    const auto summed = state_->allreduce(travelling)->getFuture();
    // For CUDA tensors the future runs this on a stream that waits for the all-reduce.
    return summed->then(
        [gradients](c10::ivalue::Future& future) {
          gradients.copy_(c10d::detail::parseCppCommHookResult(future.value()));
          return c10::IValue(gradients);
        },
        c10::TensorType::get());
  }
};

}  // namespace

std::unique_ptr<c10d::CommHookInterface> bf16_compress_hook(
    const c10::intrusive_ptr<c10d::ProcessGroup>& group) {
  return std::make_unique<Bf16Hook>(group);
}

}  // namespace rtrain::engine
