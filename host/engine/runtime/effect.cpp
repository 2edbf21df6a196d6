#include "host/engine/runtime/effect.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <torch/library.h>

#include <utility>

namespace rtrain::engine {
namespace {

void call_effect(const c10::OperatorHandle& /*op*/, torch::jit::Stack* stack) {
  const auto arguments = torch::jit::last(*stack, 4);
  const c10::IValue effect = arguments[0];
  const std::vector<at::Tensor> changed = arguments[1].toTensorVector();
  const std::vector<at::Tensor> read = arguments[2].toTensorVector();
  torch::jit::drop(*stack, 4);
  Effect::of(effect).run(changed, read);
}

TORCH_LIBRARY(rtrain, library) {
  library.def("effect(Any effect, Tensor(a!)[] changed, Tensor[] read, Tensor(b!) order) -> ()",
              torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd,
                              torch::CppFunction::makeFromBoxedFunction<&call_effect>()));
}

// The tensor to which all effects seem to write. Made without an operator, which a recording would
// see.
const at::Tensor& order_of_effects() {
  static const at::Tensor order(at::detail::empty_cpu({1}, at::kByte));
  return order;
}

}  // namespace

Effect::Effect(std::string name, std::string given, Body body, Order order, InCheck in_check)
    : name_(std::move(name)),
      given_(std::move(given)),
      body_(std::move(body)),
      order_(order),
      in_check_(in_check),
      has_grad_mode_(c10::GradMode::is_enabled()) {}

bool Effect::is_same(const Effect& other) const {
  return name_ == other.name_ && given_ == other.given_ && has_grad_mode_ == other.has_grad_mode_;
}

void Effect::run(const std::vector<at::Tensor>& changed,
                 const std::vector<at::Tensor>& read) const {
  RECORD_FUNCTION(name_, c10::ArrayRef<const c10::IValue>());  // its name in profiles
  const c10::AutoGradMode grad_mode(has_grad_mode_);
  body_(changed, read);
}

const Effect& Effect::of(const c10::IValue& argument) {
  return static_cast<const Effect&>(*argument.toCapsule());
}

void record_effect(Effect effect, const std::vector<at::Tensor>& changed,
                   const std::vector<at::Tensor>& read) {
  static const c10::OperatorHandle op =
      c10::Dispatcher::singleton().findSchemaOrThrow(Effect::kOperator.data(), "");
  torch::jit::Stack stack;
  stack.push_back(c10::IValue::make_capsule(c10::make_intrusive<Effect>(std::move(effect))));
  stack.emplace_back(changed);
  stack.emplace_back(read);
  stack.emplace_back(order_of_effects());
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  op.callBoxed(&stack);
}

}  // namespace rtrain::engine
