// torch._C.recording: what modules/torch/compile calls.
#include <ATen/autocast_mode.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

#include <torch/csrc/autograd/anomaly_mode.h>

#include <array>
#include <memory>

#include "host/engine/autograd/autograd.h"
#include "host/engine/autograd/loss_watch.h"
#include "host/engine/operators/row_product.h"
#include "host/engine/recording/plan_check.h"
#include "host/engine/recording/recorder/recorder.h"
#include "host/engine/recording/step_plan.h"
#include "host/engine/runtime/callback.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/effect.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/line_range.h"
#include "host/engine/runtime/open.h"
#include "host/engine/runtime/table_fields.h"
#include "host/engine/tensor/tensor.h"
#include "host/lua/class.h"

template <>
struct rtrain::lua::Class<rtrain::engine::Recorder> {
  using Slot = std::unique_ptr<rtrain::engine::Recorder>;
  static constexpr const char* kName = "torch.Recorder";
};

template <>
struct rtrain::lua::Class<rtrain::engine::Record> {
  using Slot = std::unique_ptr<rtrain::engine::Record>;
  static constexpr const char* kName = "torch.Record";
};

template <>
struct rtrain::lua::Class<rtrain::engine::StepPlan> {
  using Slot = std::unique_ptr<rtrain::engine::StepPlan>;
  static constexpr const char* kName = "torch.StepPlan";
};

template <>
struct rtrain::lua::Class<rtrain::engine::PlanCheck> {
  using Slot = std::unique_ptr<rtrain::engine::PlanCheck>;
  static constexpr const char* kName = "torch.PlanCheck";
};

namespace rtrain::engine {
namespace {

std::vector<double> read_rates(lua_State* L, int index) {
  std::vector<double> out;
  luaL_checktype(L, index, LUA_TTABLE);
  const int count = static_cast<int>(lua_objlen(L, index));
  for (int i = 1; i <= count; ++i) {
    lua_rawgeti(L, index, i);
    out.push_back(luaL_checknumber(L, -1));
    lua_pop(L, 1);
  }
  return out;
}

int push_text_or_nil(lua_State* L, const std::optional<std::string>& text) {
  if (!text) {
    lua_pushnil(L);
  } else {
    lua_pushlstring(L, text->data(), text->size());
  }
  return 1;
}

void push_regions(lua_State* L, const std::vector<RegionSummary>& regions) {
  lua_createtable(L, static_cast<int>(regions.size()), 0);
  for (size_t i = 0; i < regions.size(); ++i) {
    lua_newtable(L);
    set_text(L, "name", regions[i].name);
    set_text(L, "line", regions[i].line);
    set_number(L, "num_calls", regions[i].num_calls);
    set_number(L, "bytes_saved", regions[i].bytes_saved);
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
}

// The leaves that an earlier recording of the step found: in a Record or a StepPlan.
std::vector<at::Tensor> leaves_of(lua_State* L, int index) {
  if (lua_isnil(L, index)) return {};
  if (lua::test<StepPlan>(L, index) != nullptr) {
    return lua::check<StepPlan>(L, index)->record().leaves;
  }
  return lua::check<Record>(L, index)->leaves;
}

// start(arguments, earlier, keeps_results): a Recorder, which records this thread until its stop().
// `earlier` is a record or a plan of the step, or nil.
int start(lua_State* L) {
  lua_settop(L, 3);
  std::vector<at::Tensor> leaves = leaves_of(L, 2);
  lua::push<Recorder>(
      L, std::make_unique<Recorder>(check_tensors(L, 1), std::move(leaves),
                                    lua_toboolean(L, 3) != 0, [L] { return lua_line(L); }));
  return 1;
}

// modes(): a number for the modes on which operators depend (of gradients, autocast, the default
// dtype, products of rows), whether anomalies are detected, whether this thread is being recorded.
int modes(lua_State* L) {
  const int grad = c10::InferenceMode::is_enabled() ? 2 : c10::GradMode::is_enabled() ? 1 : 0;
  const auto autocast = [](at::DeviceType device) {
    if (!at::autocast::is_autocast_enabled(device)) return 0;
    return 1 + static_cast<int>(at::autocast::get_autocast_dtype(device));
  };
  const int dtype = static_cast<int>(c10::get_default_dtype_as_scalartype());
  const int rows = takes_row_products_here() ? 3 : 0;
  constexpr int kModes = 6;
  constexpr int kDtypes = 64;
  const int casts = autocast(at::kCPU) + kDtypes * autocast(at::kCUDA);
  lua_pushinteger(L, grad + rows + kModes * (casts + kDtypes * kDtypes * dtype));
  lua_pushboolean(L, torch::autograd::AnomalyMode::is_enabled() ? 1 : 0);
  lua_pushboolean(L, Recorder::current() != nullptr ? 1 : 0);
  return 3;
}

// add_rate(group): the next fused step takes the learning rate of this group, from 0.
int add_rate(lua_State* L) {
  const auto group = static_cast<int>(luaL_checkinteger(L, 1));
  if (Recorder* recorder = Recorder::current()) recorder->add_rate(group);
  return 0;
}

// refuse(reason): what the script does now cannot be in a recording.
int refuse(lua_State* L) {
  refuse_in_recording(check_text(L, 1, "refuse: reason"));
  return 0;
}

// effect(name, fn, changed, read, kind): calls fn(changed, read), or fn() without lists of tensors
// and where kind is 'closed'. In a recording the plan calls it again at this place, with the
// tensors that are at their places then: what the step did before it with these tensors has been
// done, and nothing of what comes after it. If kind is 'apart', or without lists, that holds for
// the whole step. An effect of kind 'random' changes nothing but the state of random numbers.
int effect(lua_State* L) {
  std::string name(check_text(L, 1, "effect: name"));
  check_callable(L, 2, "effect: fn");
  const bool has_tensors = !lua_isnoneornil(L, 3);
  const std::string kind(lua_isnoneornil(L, 5) ? "" : check_text(L, 5, "effect: kind"));
  const bool is_apart = !has_tensors || kind == "apart";
  const bool gives_tensors = has_tensors && kind != "closed";
  using Tensors = std::vector<at::Tensor>;
  const Tensors changed = has_tensors ? check_tensors(L, 3) : Tensors();
  const Tensors read = lua_isnoneornil(L, 4) ? Tensors() : check_tensors(L, 4);
  lua_settop(L, 2);
  const Running running(vm(L), L);
  const auto fn = std::make_shared<Callback>(L);
  const auto call = [fn, gives_tensors](const Tensors& to_change, const Tensors& to_read) {
    lua_State* own = fn->push();
    if (gives_tensors) push_tensors(own, to_change);
    if (gives_tensors) push_tensors(own, to_read);
    lua::protected_call(own, gives_tensors ? 2 : 0, 0);
  };
  if (RecordingListener::current() == nullptr) {
    call(changed, read);
  } else {
    const auto order = is_apart ? Effect::Order::kOfAll : Effect::Order::kOfEffects;
    const auto in_check = kind == "random" ? Effect::InCheck::kRepeated : Effect::InCheck::kCopied;
    record_effect(Effect(std::move(name), "", call, order, in_check), changed, read);
  }
  return 0;
}

struct RecorderMethods {
  static int stop(lua_State* L) {
    lua::check<Recorder>(L, 1)->stop();
    return 0;
  }
  // take(outputs): the record; or nil and why there is none.
  static int take(lua_State* L) {
    Recorder& recorder = *lua::check<Recorder>(L, 1);
    Record record = recorder.take(check_tensors(L, 2));
    if (recorder.refusal().empty()) {
      lua::push<Record>(L, std::make_unique<Record>(std::move(record)));
      return 1;
    }
    lua_pushnil(L);
    lua_pushstring(L, recorder.refusal().c_str());
    return 2;
  }
};

struct RecordMethods {
  // difference(record): how the later record differs, or nil.
  static int difference(lua_State* L) {
    return push_text_or_nil(
        L, engine::difference(*lua::check<Record>(L, 1), *lua::check<Record>(L, 2)));
  }
  // plan(has_fast_math): a StepPlan. The record is used up.
  static int plan(lua_State* L) {
    auto& record = lua::check<Record>(L, 1);
    record->has_fast_math = lua_toboolean(L, 2) != 0;
    lua::push<StepPlan>(L, std::make_unique<StepPlan>(std::move(*record)));
    record.reset();
    return 1;
  }
};

struct PlanMethods {
  static int misfit(lua_State* L) {
    return push_text_or_nil(L, lua::check<StepPlan>(L, 1)->misfit(check_tensors(L, 2)));
  }
  // run(arguments, rates): a list of the step's results.
  static int run(lua_State* L) {
    StepPlan& plan = *lua::check<StepPlan>(L, 1);
    const std::vector<double> rates = read_rates(L, 3);
    const Running running(vm(L), L);  // for communication hooks in Lua
    const std::vector<at::Tensor> out = plan.run(check_tensors(L, 2), rates);
    if (plan.loss().defined()) see_loss(vm(L), L, plan.loss());
    lua_createtable(L, static_cast<int>(out.size()), 0);
    for (size_t i = 0; i < out.size(); ++i) {
      push_tensor(L, out[i].requires_grad() ? out[i].detach() : out[i]);
      lua_rawseti(L, -2, static_cast<int>(i) + 1);
    }
    return 1;
  }
  // graph_refusal(): why a CUDA graph cannot hold a run, or nil.
  static int graph_refusal(lua_State* L) {
    return push_text_or_nil(L, lua::check<StepPlan>(L, 1)->graph_refusal());
  }
  static int has_settled(lua_State* L) {
    lua_pushboolean(L, lua::check<StepPlan>(L, 1)->has_settled() ? 1 : 0);
    return 1;
  }
  static int keep_effects(lua_State* L) {
    lua::check<StepPlan>(L, 1)->keep_effects();
    return 0;
  }
  static int repeats(lua_State* L) {
    lua_pushboolean(L, lua::check<StepPlan>(L, 1)->repeats() ? 1 : 0);
    return 1;
  }
  static int repeat_effects(lua_State* L) {
    StepPlan& plan = *lua::check<StepPlan>(L, 1);
    plan.repeat_effects();
    if (plan.loss().defined()) see_loss(vm(L), L, plan.loss());
    return 0;
  }
  static int changes_state(lua_State* L) {
    lua_pushboolean(L, lua::check<StepPlan>(L, 1)->changes_state() ? 1 : 0);
    return 1;
  }
  // check(arguments): a PlanCheck, before the step.
  static int check(lua_State* L) {
    lua::push<PlanCheck>(
        L, std::make_unique<PlanCheck>(*lua::check<StepPlan>(L, 1), check_tensors(L, 2)));
    return 1;
  }
  // summary(): {recorded, views, dropped, region_calls, bytes_saved, kernels, kernels_ready,
  // launches, kernel_refusal, calls = {name = count},
  // regions = {{name, line, num_calls, bytes_saved}, …}}
  static int summary(lua_State* L) {
    const PlanSummary& summary = lua::check<StepPlan>(L, 1)->summary();
    lua_newtable(L);
    set_number(L, "recorded", summary.recorded);
    set_number(L, "views", summary.views);
    set_number(L, "dropped", summary.dropped);
    set_number(L, "region_calls", summary.region_calls);
    set_number(L, "bytes_saved", summary.bytes_saved);
    push_regions(L, summary.regions);
    lua_setfield(L, -2, "regions");
    lua_newtable(L);
    for (const auto& [name, count] : summary.calls) set_number(L, name.c_str(), count);
    lua_setfield(L, -2, "calls");
    const KernelSummary kernels = lua::check<StepPlan>(L, 1)->kernel_summary();
    set_number(L, "kernels", kernels.kernels);
    set_number(L, "kernels_ready", kernels.ready);
    set_number(L, "launches", kernels.launches);
    set_text(L, "kernel_refusal", kernels.refusal);
    return 1;
  }
};

// difference(record, rates): what the plan computes otherwise than the recorded step, or nil.
int check_difference(lua_State* L) {
  return push_text_or_nil(
      L, lua::check<PlanCheck>(L, 1)->difference(*lua::check<Record>(L, 2), read_rates(L, 3)));
}

constexpr lua::Method kFunctions[] = {torch_method<&start>("start"), torch_method<&modes>("modes"),
                                      torch_method<&add_rate>("add_rate"),
                                      torch_method<&refuse>("refuse"),
                                      torch_method<&effect>("effect")};

}  // namespace

void open_recording(lua_State* L) {
  static constexpr std::array kRecorder = {torch_method<&RecorderMethods::stop>("stop"),
                                           torch_method<&RecorderMethods::take>("take")};
  static constexpr std::array kRecord = {torch_method<&RecordMethods::difference>("difference"),
                                         torch_method<&RecordMethods::plan>("plan")};
  static constexpr std::array kPlan = {torch_method<&PlanMethods::misfit>("misfit"),
                                       torch_method<&PlanMethods::run>("run"),
                                       torch_method<&PlanMethods::changes_state>("changes_state"),
                                       torch_method<&PlanMethods::graph_refusal>("graph_refusal"),
                                       torch_method<&PlanMethods::has_settled>("has_settled"),
                                       torch_method<&PlanMethods::keep_effects>("keep_effects"),
                                       torch_method<&PlanMethods::repeats>("repeats"),
                                       torch_method<&PlanMethods::repeat_effects>("repeat_effects"),
                                       torch_method<&PlanMethods::check>("check"),
                                       torch_method<&PlanMethods::summary>("summary")};
  static constexpr std::array kCheck = {torch_method<&check_difference>("difference")};
  lua::register_class<Recorder>(L, kRecorder);
  lua::register_class<Record>(L, kRecord);
  lua::register_class<StepPlan>(L, kPlan);
  lua::register_class<PlanCheck>(L, kCheck);
  lua_newtable(L);
  lua::add_functions(L, kFunctions);
  lua_setfield(L, -2, "recording");
}

}  // namespace rtrain::engine
