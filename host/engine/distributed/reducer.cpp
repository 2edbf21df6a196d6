#include "host/engine/distributed/reducer.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/engine.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <sstream>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <unordered_map>
#include <unordered_set>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/distributed/hooks/bf16_hook.h"
#include "host/engine/distributed/hooks/virtual_sums.h"
#include "host/engine/distributed/ordered_reducer.h"
#include "host/engine/memory/tensor_place.h"
#include "host/engine/operators/boxed/call.h"
#include "host/engine/runtime/blocking.h"
#include "host/engine/runtime/effect.h"
#include "host/engine/runtime/phase_region.h"

namespace rtrain::engine {

// Holds the reducer weakly, because a graph may outlive it.
struct SinkState : torch::CustomClassHolder {
  explicit SinkState(std::weak_ptr<Reducer> owner) : reducer(std::move(owner)) {}

  void on_backward() const {
    const auto live = reducer.lock();
    if (live == nullptr || !live->options_.static_graph || live->delay_queued_) return;
    live->delay_queued_ = true;
    torch::autograd::Engine::get_default_engine().queue_callback([weak = reducer] {
      if (const auto owner = weak.lock()) owner->delay_all_reduce();
    });
  }

  std::weak_ptr<Reducer> reducer;
};

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr size_t kBroadcastBytes = size_t{250} << 20;
constexpr double kDefaultBucketMb = 25;
constexpr std::string_view kUnfinished = "Expected to have finished reduction";
constexpr size_t kShownNames = 8;

std::atomic<int> num_reducers = 0;

// The names of the parameters whose indices end LibTorch's text: "… for rank 0: 2 3 …".
std::string unused_text(std::string_view text, const std::vector<std::string>& all) {
  constexpr std::string_view kMark = "did not receive grad for rank ";
  const size_t mark = text.find(kMark);
  const size_t colon = mark == text.npos ? text.npos : text.find(':', mark);
  std::vector<std::string> names;
  std::istringstream numbers(std::string(colon == text.npos ? "" : text.substr(colon + 1)));
  for (size_t number = 0; numbers >> number;) {
    if (number < all.size()) names.push_back(all[number]);
  }
  if (names.empty()) return "some parameters";
  const size_t more = names.size() > kShownNames ? names.size() - kShownNames : 0;
  names.resize(names.size() - more);
  return cat(join(names, ", "), more > 0 ? cat(" and ", more, " more") : "");
}

// The identity. Its backward runs before the backward of all operations that made the output.
struct Sink : torch::autograd::Function<Sink> {
  static variable_list forward(AutogradContext* context, at::TensorList outputs,
                               const c10::intrusive_ptr<SinkState>& state) {
    context->saved_data["state"] = c10::IValue::make_capsule(state);
    context->set_materialize_grads(false);
    variable_list out;
    for (const at::Tensor& output : outputs) out.push_back(output.view_as(output));
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto state =
        c10::static_intrusive_pointer_cast<SinkState>(context->saved_data["state"].toCapsule());
    state->on_backward();
    grads.emplace_back();  // for the argument `state`
    return grads;
  }
};

int64_t bucket_bytes(double megabytes) { return static_cast<int64_t>(megabytes * 1024 * 1024); }

}  // namespace

std::shared_ptr<Reducer> Reducer::create(const std::shared_ptr<Group>& group,
                                         std::vector<at::Tensor> params, ReducerOptions options) {
  std::shared_ptr<Reducer> out(new Reducer(group, std::move(params), std::move(options)));
  group->add_reducer(out);
  return out;
}

Reducer::Reducer(std::shared_ptr<Group> group, std::vector<at::Tensor> params,
                 ReducerOptions options)
    : group_(std::move(group)),
      params_(std::move(params)),
      options_(std::move(options)),
      number_(++num_reducers) {
  check_params();
  group_->check_device("DistributedDataParallel", params_[0]);
  group_->call("DistributedDataParallel", [this] {
    c10d::verify_params_across_processes(group_->process_group(), params_, std::nullopt);
    equalize_ranks();
    build();
  });
}

void Reducer::check_params() const {
  if (params_.empty()) {
    throw Error(Code::kArgument,
                "DistributedDataParallel: the module has no parameter that requires a gradient");
  }
  const std::vector<int>& shares = options_.shares;
  if (!shares.empty() &&
      (std::ssize(shares) != group_->world_size() || std::ranges::min(shares) < 1 ||
       std::accumulate(shares.begin(), shares.end(), 0) != options_.num_virtual)) {
    throw Error(Code::kArgument,
                cat("shares: ", shares.size(), " numbers for ", options_.num_virtual,
                    " virtual ranks of ", group_->world_size(), " ranks"));
  }
  if (!options_.names.empty() && options_.names.size() != params_.size()) {
    throw Error(Code::kArgument, cat(options_.names.size(), " names for ", params_.size(),
                                     " parameters: give one for each, or none"));
  }
  if (!(options_.bucket_cap_mb > 0)) {
    throw Error(Code::kArgument, "bucket_cap_mb must be above 0");
  }
  std::unordered_set<const void*> seen;
  for (size_t i = 0; i < params_.size(); ++i) {
    const std::string name = options_.names.empty() ? cat("number ", i) : options_.names[i];
    if (params_[i].device() != params_[0].device()) {
      throw Error(Code::kArgument,
                  cat("DistributedDataParallel: parameter ", name, " is on ",
                      params_[i].device().str(), ", others are on ", params_[0].device().str(),
                      ": move the model to one device first"));
    }
    if (!params_[i].requires_grad()) {
      throw Error(Code::kArgument, cat("parameter ", name, " does not require a gradient"));
    }
    if (!seen.insert(params_[i].unsafeGetTensorImpl()).second) {
      throw Error(Code::kArgument, cat("parameter ", name, " is given twice"));
    }
  }
}

void Reducer::equalize_ranks() {
  std::vector<at::Tensor> state;
  for (const at::Tensor& param : params_) state.push_back(param.detach());
  for (const at::Tensor& buffer : options_.buffers) state.push_back(buffer.detach());
  for (const at::Tensor& tensor : options_.frozen) state.push_back(tensor.detach());
  c10d::broadcast_coalesced(group_->process_group(), state, kBroadcastBytes, 0);
}

void Reducer::build() {
  const bool default_cap = options_.bucket_cap_mb == kDefaultBucketMb;
  const int64_t cap = bucket_bytes(options_.bucket_cap_mb);
  const int64_t first_cap = default_cap ? int64_t{c10d::kDefaultFirstBucketBytes} : cap;
  std::vector<size_t> limits;
  if (options_.static_graph || !options_.find_unused_parameters) {
    limits = {
        SIZE_MAX};  // one bucket, until the first backward has shown the order of the gradients
  } else if (default_cap) {
    limits = {static_cast<size_t>(first_cap), static_cast<size_t>(cap)};
  } else {
    limits = {static_cast<size_t>(cap)};
  }
  const std::vector<bool> dense(params_.size(), false);
  auto buckets = std::get<0>(c10d::compute_bucket_assignment_by_size(params_, limits, dense));
  // Gradients become ready in roughly the reverse order of the parameters.
  std::reverse(buckets.begin(), buckets.end());
  std::unordered_map<size_t, std::string> names;
  for (size_t i = 0; i < params_.size(); ++i) {
    names[i] = options_.names.empty() ? cat("parameter ", i) : options_.names[i];
  }
  const TensorPlaceScope buckets_place(group_->tensor_place());
  reducer_ = std::make_shared<OrderedReducer>(
      params_, std::move(buckets), group_->process_group(), dense, cap,
      options_.find_unused_parameters, options_.gradient_as_bucket_view, std::move(names),
      first_cap,
      /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
      /*bucket_bytes_cap_list=*/std::vector<int64_t>{});
  logger_ = std::make_shared<c10d::Logger>(reducer_);
  reducer_->set_hooks([this](size_t index) { on_gradient(index); });
  reducer_->set_logger(std::weak_ptr<c10d::Logger>(logger_));
  std::vector<int> devices;
  if (params_[0].is_cuda()) devices.push_back(params_[0].get_device());
  const int output_device = devices.empty() ? -1 : devices[0];
  logger_->set_construction_data_and_log("DistributedDataParallel", devices, output_device,
                                         options_.broadcast_buffers, /*has_sync_bn=*/false,
                                         options_.static_graph);
  if (options_.static_graph) {
    reducer_->set_static_graph();
    logger_->set_static_graph();
  }
  if (options_.num_virtual > 0) {
    virtual_sums_ = std::make_shared<VirtualSums>(
        VirtualSumsOptions{.group = group_->process_group(),
                           .num_virtual = options_.num_virtual,
                           .shares = options_.shares,
                           .adds_in_tree = group_->uses_shm() && params_[0].is_cpu()});
    reducer_->register_comm_hook(virtual_hook(virtual_sums_));
  }
  if (options_.gradient_order.empty() || !reducer_->should_rebuild_buckets()) return;
  reducer_->set_gradient_order(options_.gradient_order);
  rebuild();
}

std::vector<int64_t> Reducer::gradient_order() const {
  return has_rebuilt_ || reducer_ == nullptr ? gradient_order_ : reducer_->gradient_order();
}

// Rebuilds the buckets, on all ranks at once. LibTorch discards the order, so it is saved first.
void Reducer::rebuild() {
  const TensorPlaceScope buckets_place(group_->tensor_place());
  if (!has_rebuilt_) gradient_order_ = reducer_->gradient_order();
  if (!reducer_->rebuild_buckets()) return;
  has_rebuilt_ = true;
  ++num_builds_;
}

void Reducer::check_open() const {
  if (reducer_ == nullptr) {
    throw Error(Code::kArgument,
                "DistributedDataParallel: its process group was destroyed, so it cannot be used");
  }
}

void Reducer::call(const char* operation, bool waits, const std::function<void()>& body) {
  check_open();
  try {
    waits ? group_->call(operation, body) : group_->guard(operation, body);
  } catch (const c10::Error& error) {
    if (!std::string_view(error.what_without_backtrace()).starts_with(kUnfinished)) throw;
    throw Error(
        Code::kUser,
        cat("DistributedDataParallel: ",
            unused_text(error.what_without_backtrace(), options_.names),
            " had no gradient in the step before this "
            "one: call backward on every forward's output, use no_sync for forwards that only "
            "accumulate, and where parameters may stay unused pass "
            "parallel_strategy_kwargs = {find_unused_parameters = true}"));
  }
}

template <class Fn>
void Reducer::run_as_effect(std::string_view name, std::string_view given,
                            const std::vector<at::Tensor>& changed, Fn fn) {
  if (RecordingListener::current() == nullptr) return fn(*this, changed);
  record_effect(
      Effect(cat("DistributedDataParallel: ", name), cat(given, " of ", number_),
             [weak = weak_from_this(), fn = std::move(fn)](const auto& tensors, const auto&) {
               const auto live = weak.lock();
               RT_CHECK(live != nullptr);
               fn(*live, tensors);
             }),
      changed, {});
}

void Reducer::before_forward(bool sync, int virtual_rank) {
  run_as_effect(
      "forward begins", sync ? "sync" : "no_sync", options_.buffers,
      [sync, virtual_rank](Reducer& own, const auto&) { own.begin_forward(sync, virtual_rank); });
}

// Processes have different numbers of virtual ranks. So they do together what comes once in a step:
// in the forward of their first ones.
void Reducer::begin_forward(bool sync, int virtual_rank) {
  const bool is_first = virtual_sums_ == nullptr || virtual_rank <= virtual_sums_->range().begin;
  const bool sends = is_first && buffers_due_ && has_buffers();
  call("DistributedDataParallel forward", sends || (is_first && !has_rebuilt_), [&] {
    if (c10::GradMode::is_enabled()) {
      if (virtual_sums_ != nullptr && virtual_rank >= 0) {
        virtual_sums_->begin(virtual_rank, params_);
      }
      if (sync) {
        logger_->set_runtime_stats_and_log();
        if (options_.static_graph && !delay_queued_) reducer_->forget_counts();
        reducer_->prepare_for_forward();
      }
      if (is_first) {
        rebuild();
      } else if (!has_rebuilt_) {
        reducer_->forget_gradient_order();
      }
    }
    if (sends) broadcast_buffers();
  });
}

void Reducer::broadcast_buffers() {
  std::vector<at::Tensor> buffers;
  for (const at::Tensor& buffer : options_.buffers) buffers.push_back(buffer.detach());
  c10d::broadcast_coalesced(group_->process_group(), buffers, kBroadcastBytes, 0);
}

void Reducer::share_buffers() {
  if (!buffers_due_ || !has_buffers()) return;
  call("DistributedDataParallel: buffers of rank 0", true, [&] { broadcast_buffers(); });
  buffers_due_ = false;
}

void Reducer::note_zeroed(const std::vector<at::Tensor>& params) {
  if (virtual_sums_ == nullptr) return;
  run_as_effect("gradients are zeroed", "", {}, [params](Reducer& own, const auto&) {
    if (own.virtual_sums_ != nullptr) own.virtual_sums_->note_zeroed(params);
  });
}

void Reducer::end_virtual_rank(bool is_left) {
  if (virtual_sums_ != nullptr) virtual_sums_->end(is_left);
}

bool Reducer::replaces_outputs() const {
  return options_.static_graph ? !delay_queued_ : options_.find_unused_parameters;
}

void Reducer::end_forward(const std::vector<at::Tensor>& outputs, bool sync) {
  check_open();
  buffers_due_ = c10::GradMode::is_enabled() && sync;
  if (!buffers_due_) return;
  call("DistributedDataParallel forward", false,
       [&] { reducer_->prepare_for_backward(searches() ? outputs : std::vector<at::Tensor>{}); });
}

std::vector<at::Tensor> Reducer::after_forward(const std::vector<at::Tensor>& outputs, bool sync) {
  std::vector<at::Tensor> out = outputs;
  if (!replaces_outputs()) {
    run_as_effect("forward has ended", sync ? "sync" : "no_sync", {},
                  [sync](Reducer& own, const auto&) { own.end_forward({}, sync); });
    return out;
  }
  refuse_in_recording(options_.static_graph
                          ? "the first step of a static graph counts the gradients"
                          : "find_unused_parameters = true: any step may use other parameters");
  end_forward(outputs, sync);
  if (!buffers_due_) return out;
  std::vector<at::Tensor> tracked;
  for (const at::Tensor& output : outputs) {
    if (output.requires_grad()) tracked.push_back(output);
  }
  if (tracked.empty()) return out;
  const auto state = c10::make_intrusive<SinkState>(weak_from_this());
  const variable_list sunk = Sink::apply(at::TensorList(tracked), state);
  for (size_t i = 0, next = 0; i < out.size(); ++i) {
    if (out[i].requires_grad()) out[i] = sunk[next++];
  }
  return out;
}

void Reducer::on_gradient(size_t index) {
  if (RecordingListener::current() == nullptr || searches()) return reducer_->autograd_hook(index);
  if (!params_[index].grad().defined()) {
    refuse_in_recording("a backward pass gives a parameter no gradient");
    return reducer_->autograd_hook(index);
  }
  run_as_effect(
      "a gradient is ready", cat("gradient ", index), reducer_->written_by(index),
      [index](Reducer& own, const auto& written) { own.repeat_gradient(index, written[0]); });
}

// In a plan no backward() says what this rank waits for, and names the function in errors.
void Reducer::repeat_gradient(size_t index, const at::Tensor& grad) {
  const PhaseRegion phase(group_->host(), TrainPhase::kBackward);
  const BlockingRegion region(group_->host(), WaitKind::kCollective, "backward");
  at::Tensor& own = params_[index].mutable_grad();
  if (!own.is_same(grad)) own = grad;
  try {
    check_open();
    reducer_->end_gradient(index);
  } catch (const c10::Error& error) {
    throw operator_error("backward", error, "");
  }
}

void Reducer::delay_all_reduce() {
  if (reducer_ != nullptr) reducer_->delay_all_reduce();
}

void Reducer::register_comm_hook(std::string_view name) {
  check_open();
  if (name == "allreduce") {
    reducer_->register_builtin_comm_hook(c10d::BuiltinCommHookType::ALLREDUCE);
  } else if (name == "fp16_compress") {
    reducer_->register_builtin_comm_hook(c10d::BuiltinCommHookType::FP16_COMPRESS);
  } else if (name == "bf16_compress") {
    reducer_->register_comm_hook(bf16_compress_hook(group_->process_group()));
  } else {
    throw Error(Code::kArgument, cat("unknown communication hook '", name,
                                     "': use allreduce, fp16_compress or bf16_compress"));
  }
}

void Reducer::register_comm_hook(std::unique_ptr<c10d::CommHookInterface> hook) {
  check_open();
  reducer_->register_comm_hook(std::move(hook));
}

void Reducer::close() noexcept {
  try {
    if (reducer_ != nullptr) reducer_->remove_autograd_hooks();
  } catch (const std::exception&) {
    // The hook no longer exists, so there is nothing to remove.
  }
  if (reducer_ != nullptr) gradient_order_ = gradient_order();
  virtual_sums_.reset();
  logger_.reset();  // its destructor reads the reducer
  reducer_.reset();
}

}  // namespace rtrain::engine
