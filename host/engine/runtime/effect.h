// host/engine/runtime/effect.h: an Effect: what a step does that no operator of LibTorch does and
// that can be done again with other tensors: collectives, and the parts of a
// DistributedDataParallel.
//
// In a recording (recording_listener.h) an effect is one call, whatever it consists of. A plan runs
// it again at that place. Effects keep their order: each one seems to write to the same tensor.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <torch/custom_class.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "host/engine/runtime/recording_listener.h"

namespace rtrain::engine {

class Effect final : public torch::CustomClassHolder {
 public:
  // Both lists hold what run_effect got, or the tensors that are at their places in a later run.
  using Body = std::function<void(const std::vector<at::Tensor>& changed,
                                  const std::vector<at::Tensor>& read)>;

  // The name of the operator that calls an Effect.
  static constexpr std::string_view kOperator = "rtrain::effect";

  enum class Order {
    kOfEffects,  // operators may move from one side of it to the other, where memory allows it
    kOfAll,      // none may
  };

  // What a check of a plan does, whose tensors are copies: it copies what the effect has changed in
  // the step, or repeats an effect that changes no tensors and may be repeated.
  enum class InCheck { kCopied, kRepeated };

  // `name` is for users. `given` is what the effect takes as given: two effects are the same if
  // both texts are equal.
  Effect(std::string name, std::string given, Body body, Order order = Order::kOfEffects,
         InCheck in_check = InCheck::kCopied);

  const std::string& name() const { return name_; }
  Order order() const { return order_; }
  InCheck in_check() const { return in_check_; }
  bool is_same(const Effect& other) const;
  // Runs the body in the grad mode in which the effect was made.
  void run(const std::vector<at::Tensor>& changed, const std::vector<at::Tensor>& read) const;

  // The effect that is the first argument of a call of kOperator.
  static const Effect& of(const c10::IValue& argument);

 private:
  std::string name_;
  std::string given_;
  Body body_;
  Order order_;
  InCheck in_check_;
  bool has_grad_mode_;
};

// Makes the effect a call of this thread's recording, and runs it.
void record_effect(Effect effect, const std::vector<at::Tensor>& changed,
                   const std::vector<at::Tensor>& read);

// Runs body(changed, read). `changed` are the tensors to which it writes. The body must not use
// other ones that the step has made.
template <class Body>
void run_effect(std::string_view name, std::string_view given,
                const std::vector<at::Tensor>& changed, const std::vector<at::Tensor>& read,
                Body body) {
  if (RecordingListener::current() == nullptr) return body(changed, read);
  record_effect(Effect(std::string(name), std::string(given), std::move(body)), changed, read);
}

}  // namespace rtrain::engine
