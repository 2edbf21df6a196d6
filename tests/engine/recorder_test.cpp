// The recorder sees what forward, backward and updates call, and a plan of its record makes the
// same changes.
#include "host/engine/recording/recorder/recorder.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "host/engine/recording/plan_check.h"
#include "host/engine/recording/step_plan.h"
#include "host/engine/runtime/effect.h"

namespace rtrain::engine {
namespace {

using Tensors = std::vector<at::Tensor>;
using Step = std::function<Tensors(const Tensors&)>;

struct Recorded {
  Record record;
  std::string refusal;
};

Recorded recorded(const Step& step, const Tensors& arguments, const Tensors& leaves = {},
                  bool keeps_results = false) {
  Recorder recorder(arguments, leaves, keeps_results);
  const Tensors outputs = step(arguments);
  recorder.stop();
  Record record = recorder.take(outputs);
  return {.record = std::move(record), .refusal = recorder.refusal()};
}

std::vector<std::string> names_of(const Record& record) {
  std::vector<std::string> out;
  for (const RecordedCall& call : record.calls) out.push_back(call.name());
  return out;
}

TEST(Recorder, SeesOperatorsAndNotWhatTheyConsistOf) {
  const Step step = [](const Tensors& in) { return Tensors{at::zeros({2}).add(in[0]).softmax(0)}; };
  const Recorded found = recorded(step, {at::ones({2})});
  EXPECT_EQ(found.refusal, "");
  EXPECT_EQ(names_of(found.record),
            (std::vector<std::string>{"aten::zeros", "aten::add.Tensor", "aten::_softmax"}));
}

TEST(Recorder, SeesTheBackward) {
  const at::Tensor weight = at::ones({3}).requires_grad_();
  const Step step = [&](const Tensors& in) {
    const at::Tensor loss = (in[0] * weight).sum();
    loss.backward();
    return Tensors{loss};
  };
  recorded(step, {at::ones({3})});
  const Recorded found = recorded(step, {at::ones({3})}, {weight});
  EXPECT_EQ(found.refusal, "");
  ASSERT_EQ(found.record.states.size(), 2);
  EXPECT_TRUE(found.record.states[0].is_same(weight));
  EXPECT_EQ(found.record.grad_of[1], 0) << "the gradient to which it adds";
  EXPECT_EQ(found.record.grads[0].kind, GradEffect::Kind::kKept);
}

TEST(Recorder, EndsWithItsObject) {
  { const Recorder recorder({}, {}, false); }
  EXPECT_EQ(RecordingListener::current(), nullptr);
  const Recorded found = recorded([](const Tensors& in) { return in; }, {at::ones({1})});
  EXPECT_TRUE(found.record.calls.empty());
  EXPECT_EQ(found.record.outputs, found.record.arguments);
}

TEST(Recorder, RefusesWhatDependsOnNumbers) {
  const at::Tensor x = at::ones({2});
  const auto refusal = [&](const Step& step) { return recorded(step, {x}).refusal; };
  EXPECT_NE(refusal([](const Tensors& in) { return Tensors{in[0] * in[0][0].item()}; }), "");
  EXPECT_NE(refusal([](const Tensors& in) { return Tensors{in[0].nonzero()}; }), "");
  EXPECT_NE(refusal([](const Tensors& in) { return Tensors{in[0].index({in[0] > 0})}; }), "");
  EXPECT_NE(refusal([](const Tensors& in) { return Tensors{at::empty_like(in[0]) + 1}; }), "");
  EXPECT_NE(refusal([](const Tensors& in) { return Tensors{in[0].to_sparse()}; }), "");
  const at::Tensor index = at::zeros({1}, at::kLong);
  EXPECT_EQ(refusal([&](const Tensors& in) { return Tensors{in[0].index({index})}; }), "");
}

TEST(Recorder, FindsDifferencesOfTwoCalls) {
  const at::Tensor x = at::ones({2});
  const auto record_of = [&](double factor, const at::Tensor& state) {
    return recorded([&](const Tensors& in) { return Tensors{in[0].mul(factor).add(state)}; }, {x})
        .record;
  };
  const at::Tensor state = at::ones({2});
  const Record first = record_of(2, state);
  EXPECT_EQ(difference(first, record_of(2, state)), std::nullopt);
  EXPECT_NE(difference(first, record_of(3, state)).value_or("").find("was 2 and is 3"),
            std::string::npos);
  EXPECT_NE(difference(first, record_of(2, at::ones({2}))).value_or("").find("another one"),
            std::string::npos);
}

TEST(StepPlan, ChangesStatesAndGradientsAsTheStepDoes) {
  const at::Tensor weight = at::ones({3}).requires_grad_();
  const Step step = [&](const Tensors& in) {
    weight.mutable_grad() = at::Tensor();
    const at::Tensor loss = (in[0] * weight).pow(2).sum();
    loss.backward();
    const at::NoGradGuard no_grad;
    weight.sub_(weight.grad(), 0.25);
    return Tensors{loss};
  };
  step({at::ones({3})});
  StepPlan plan(recorded(step, {at::ones({3})}, {weight}).record);
  const Tensors arguments{at::full({3}, 2.0)};
  weight.data().fill_(1);
  const auto version = weight._version();
  EXPECT_EQ(plan.misfit(arguments), std::nullopt);
  const Tensors out = plan.run(arguments, {});
  EXPECT_EQ(out[0].item<float>(), 12);
  EXPECT_FALSE(out[0].requires_grad());
  EXPECT_TRUE(at::equal(weight.grad(), at::full({3}, 8.0)));
  EXPECT_TRUE(at::equal(weight.detach(), at::full({3}, -1.0)));
  EXPECT_EQ(weight._version(), version + 1);
  EXPECT_TRUE(plan.changes_state());
}

TEST(StepPlan, SaysWhatDoesNotFit) {
  const at::Tensor state = at::ones({2});
  StepPlan plan(
      recorded([&](const Tensors& in) { return Tensors{in[0] + state}; }, {at::ones({2})}).record);
  const auto misfit = [&](const at::Tensor& argument) {
    return plan.misfit(Tensors{argument}).value_or("fits");
  };
  EXPECT_EQ(misfit(at::ones({2})), "fits");
  EXPECT_NE(misfit(at::ones({3})), "fits");
  EXPECT_NE(misfit(at::ones({2}, at::kDouble)), "fits");
  EXPECT_NE(misfit(at::ones({4}).slice(0, 0, 4, 2)), "fits");
  EXPECT_NE(misfit(at::ones({2}).requires_grad_()), "fits");
  EXPECT_NE(misfit(state), "fits");
  state.requires_grad_();
  EXPECT_NE(misfit(at::ones({2})), "fits");
}

TEST(StepPlan, LeavesOutWhatNobodyUses) {
  const Step step = [](const Tensors& in) {
    (in[0] + 1).exp();
    return Tensors{in[0].t() * 2};
  };
  const StepPlan plan(recorded(step, {at::ones({2, 2})}).record);
  EXPECT_EQ(plan.summary().dropped, 2);
  EXPECT_EQ(plan.summary().views, 1);
  EXPECT_EQ(plan.summary().calls, (std::map<std::string, int>{{"aten::mul.Scalar", 1}}));
}

TEST(StepPlan, ZeroesMemoryWhereItIsAddedTo) {
  const Tensors states{at::ones({2, 3}), at::ones({4}), at::ones({5})};
  const Step step = [&](const Tensors& in) {
    at::_foreach_zero_(states);
    states[0].add_(in[0]);
    const at::Tensor out = in[0].exp();
    states[1].select(0, 2).copy_(out[0][0]);
    return Tensors{out};
  };
  const Record record = recorded(step, {at::ones({2, 3})}).record;
  const StepPlan once(record);
  EXPECT_EQ(once.summary().regions.size(), 1U) << "of the first state";
  EXPECT_EQ(once.summary().calls.at("aten::zero_"), 2);
  StepPlan plan(record);
  for (const at::Tensor& state : states) state.fill_(7);
  const at::Tensor x = at::tensor({1.F, -0.F, 3.F, 4.F, 5.F, 6.F}).view({2, 3});
  plan.run(Tensors{x}, {});
  EXPECT_TRUE(at::equal(states[0], x));
  EXPECT_FALSE(std::signbit(states[0][0][1].item<float>())) << "0 + -0 is 0";
  EXPECT_TRUE(at::equal(states[1], at::tensor({0.F, 0.F, std::exp(1.F), 0.F})));
  EXPECT_TRUE(at::equal(states[2], at::zeros({5})));
}

TEST(PlanCheck, NamesTheFirstOperatorThatDiffers) {
  double factor = 2;
  const at::Tensor state = at::zeros({2});
  const Step step = [&](const Tensors& in) {
    state.add_(in[0]);
    return Tensors{state.mul(3).add(in[0]), at::rand({2})};
  };
  const Tensors arguments{at::ones({2})};
  const StepPlan plan(recorded(step, arguments).record);
  PlanCheck same(plan, arguments);
  EXPECT_EQ(same.difference(recorded(step, arguments, {}, true).record, {}), std::nullopt);
  PlanCheck check(plan, arguments);
  const Step disturbed = [&](const Tensors& in) {
    state.add_(in[0]);
    state.data_ptr<float>()[0] += static_cast<float>(factor);  // which no operator does
    return Tensors{state.mul(3).add(in[0]), at::rand({2})};
  };
  EXPECT_EQ(check.difference(recorded(disturbed, arguments, {}, true).record, {}),
            "operator 3, aten::add.Tensor, gives other numbers than the step");
  EXPECT_EQ(state[0].item<float>(), 5) << "the step's results count";
}

// A step whose effect adds 1 to a product, and counts.
Step step_with_effect(int& count, const std::string& given = "") {
  return [&count, given](const Tensors& in) {
    const at::Tensor product = in[0] * 2;
    run_effect("add one", given, {product}, {in[0]}, [&count](const Tensors& all, const Tensors&) {
      all[0].mul_(1).add_(1);
      ++count;
    });
    return Tensors{product * 3};
  };
}

TEST(Effect, IsOneCallThatAPlanMakesAgain) {
  int count = 0;
  const Recorded found = recorded(step_with_effect(count), {at::ones({2})});
  EXPECT_EQ(found.refusal, "");
  EXPECT_EQ(names_of(found.record),
            (std::vector<std::string>{"aten::mul.Scalar", "add one", "aten::mul.Scalar"}));
  StepPlan plan(found.record);
  EXPECT_TRUE(at::equal(plan.run(Tensors{at::full({2}, 5.0)}, {})[0], at::full({2}, 33.0)));
  EXPECT_EQ(count, 2);
  EXPECT_TRUE(plan.changes_state());
}

TEST(Effect, IsComparedByWhatItTakesAsGiven) {
  int count = 0;
  const auto record_of = [&](const std::string& given) {
    return recorded(step_with_effect(count, given), {at::ones({2})}).record;
  };
  EXPECT_EQ(difference(record_of("a"), record_of("a")), std::nullopt);
  EXPECT_NE(difference(record_of("a"), record_of("b")).value_or("").find("add one"),
            std::string::npos);
}

TEST(Effect, KeepsItsOrderAndIsNeverLeftOut) {
  std::string seen;
  const Step step = [&](const Tensors& in) {
    for (const char* name : {"a", "b", "c"}) {
      run_effect(name, "", {}, {in[0] + 1},
                 [&seen, name](const auto&, const auto&) { seen += name; });
    }
    return Tensors{};
  };
  StepPlan plan(recorded(step, {at::ones({2})}).record);
  seen.clear();
  plan.run(Tensors{at::ones({2})}, {});
  EXPECT_EQ(seen, "abc");
}

TEST(Effect, HappensOnceInACheck) {
  int count = 0;
  const Step step = step_with_effect(count);
  const Tensors arguments{at::ones({2})};
  const StepPlan plan(recorded(step, arguments).record);
  PlanCheck check(plan, arguments);
  count = 0;
  EXPECT_EQ(check.difference(recorded(step, arguments, {}, true).record, {}), std::nullopt);
  EXPECT_EQ(count, 1);
}

// Two parameters whose gradients are parts of one bucket.
TEST(Recorder, GradientsInOneBucketAreMemoryOfTheirOwn) {
  const at::Tensor a = at::ones({2}).requires_grad_();
  const at::Tensor b = at::ones({2}).requires_grad_();
  const at::Tensor bucket = at::zeros({4});
  a.mutable_grad() = bucket.narrow(0, 0, 2);
  b.mutable_grad() = bucket.narrow(0, 2, 2);
  const Step step = [&](const Tensors& in) {
    (in[0] * a + in[0] * b * 2).sum().backward();
    return Tensors{};
  };
  const Record record = recorded(step, {at::ones({2})}, {a, b}).record;
  std::set<int> memory;
  for (const Value& value : record.values) {
    if (value.origin == Origin::kState && record.grad_of[static_cast<size_t>(value.source)] >= 0) {
      memory.insert(value.storage);
    }
  }
  EXPECT_EQ(memory.size(), 2);
  StepPlan plan(record);
  const at::Tensor other = at::zeros({4});
  b.mutable_grad() = other.narrow(0, 2, 2);
  plan.run(Tensors{at::ones({2})}, {});
  EXPECT_TRUE(at::equal(bucket, at::tensor({2.F, 2.F, 2.F, 2.F}))) << bucket;
  EXPECT_TRUE(at::equal(other, at::tensor({0.F, 0.F, 2.F, 2.F}))) << other;
  b.mutable_grad() = at::Tensor();
  EXPECT_NE(plan.misfit(Tensors{at::ones({2})}), std::nullopt);
}

}  // namespace
}  // namespace rtrain::engine
