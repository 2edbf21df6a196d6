#include "host/train/controller.h"

#include <algorithm>
#include <future>
#include <utility>

#include "host/base/clock.h"
#include "host/base/seconds_setting.h"
#include "host/base/text/text.h"
#include "host/machine/machine.h"

namespace rtrain::train {
namespace {

// Time from the moment when a node counts as lost to the moment when the controller learns it.
constexpr double kLossMarginS = 5;
constexpr size_t kMaxUnwrittenOutput = size_t{8} << 20;

// The states that the run's row shows for `rtrain ls`. The other states last only moments, and the
// row keeps the status before.
bool is_recorded(decide::RunState state) {
  return state != decide::RunState::kShuttingDown && state < decide::RunState::kErrored;
}

}  // namespace

Controller::Controller(const ControllerContext& context)
    : context_(context),
      io_(context.io, context.loop, context.record,
          [this](const Error& error) { on_storage_error(error); }),
      events_(context.events, io_),
      run_{.spec = context.spec,
           .loop = context.loop,
           .io = io_,
           .events = events_,
           .calls = context.calls,
           .run_id = context.record.run_id(),
           .run_path = context.record.run_path(),
           .files = make_files()},
      machine_(scaling_policy(context.spec),
               decide::FailurePolicy(context.spec.failure_limits(), static_cast<uint64_t>(now_ms()),
                                     decide::FailureCounts::from_value(context.record.failures())),
               context.spec.start_timeout_s, heal_limits()),
      resources_(make_resources()),
      health_(run_, resources_, *this),
      writer_(context.loop, io_, [this] { on_written(); }),
      commits_(io_, writer_, events_, *this),
      checkpoints_(run_, *this),
      deadline_(context.loop, [this] { on_deadline(); }),
      verdict_(context.loop, [this] { feed(decide::event::VerdictDue{machine_.attempt}); }),
      resize_(context.loop, [this] { look_for_room(); }),
      retry_(context.loop, [this] { feed(decide::event::RetryDue{machine_.attempt}); }),
      signals_(context.loop, *this) {}

// In local mode the workers exist already.
node::NodeFiles Controller::make_files() {
  node::NodeFiles out{.functions_fd = context_.functions_fd,
                      .engine_fd = context_.engine_fd,
                      .zygote = context_.zygote};
  if (context_.spec.is_local) {
    out.endpoints = &endpoints_.emplace(context_.loop, events_, context_.spec);
  }
  return out;
}

std::unique_ptr<Resources> Controller::make_resources() {
  if (context_.nodes != nullptr && context_.spec.uses_nodes()) {
    auto gpus =
        context_.spec.gpus_per_worker > 0 ? node::own_gpus() : std::vector<node::WorkerGpu>();
    return std::make_unique<JobNodes>(*context_.nodes, run_, std::move(gpus), *this);
  }
  return std::make_unique<ResourceBroker>(context_.spec, context_.loop, context_.io, run_.files,
                                          [this](const std::string& text) { notice(text); });
}

// Tasks on the io thread use this object, so the last of them must have ended.
Controller::~Controller() {
  std::promise<void> idle;
  context_.io.post([&idle] { idle.set_value(); });
  idle.get_future().wait();
}

void Controller::on_written() {
  if (attempt_) attempt_->on_written();
  hold_output();
}

void Controller::on_reports_complete(std::vector<Report> reports) {
  commits_.complete(std::move(reports));
}

void Controller::on_commit_ended(int64_t index, const store::CheckpointRow* checkpoint) {
  if (checkpoint != nullptr) checkpoints_.committed(*checkpoint);
  checkpoints_.progressed();
  if (checkpoint == nullptr) return;
  feed(decide::event::CheckpointCommitted{machine_.attempt});
  attempt_->on_committed(index);
}

// Flushes the writer first: if one report has two rows, the first one written counts.
void Controller::add_late_reports(std::vector<Report> reports, OnAdded done) {
  writer_.flush();
  io_.call([reports =
                std::move(reports)](RunRecord& record) { return record.add_late_reports(reports); },
           std::move(done));
}

void Controller::send(int rank, message::ToWorker message) {
  if (attempt_) attempt_->send(rank, std::move(message));
}

void Controller::add_validation_log(const store::CheckpointRow& checkpoint,
                                    std::string_view bytes) {
  writer_.add_log(checkpoint.attempt, cat("validation-", checkpoint.name), bytes);
  hold_output();
}

// Only when the run is asked to stop: another attempt would wait for the same train function.
bool Controller::abandons_function() {
  if (!machine_.stop) return false;
  abandoned_ = exit_code(Code::kTimeout);
  return true;
}

// Hides reports whose checkpoints are still being written: no rank may ask for these yet.
decide::CheckpointProgress Controller::progress() const {
  if (!attempt_) return {};
  decide::CheckpointProgress out = attempt_->progress();
  if (const auto first = commits_.first_under_way()) out.complete = std::min(out.complete, *first);
  return out;
}

void Controller::take_warnings() {
  io_.write([this](RunRecord& record) {
    record.set_on_warning([this](const std::string& text) {
      context_.loop.post([this, text] { events_.notice("warning", text); });
    });
  });
}

decide::HealLimits Controller::heal_limits() const {
  const RunSpec& spec = context_.spec;
  const bool has_hosts = context_.nodes != nullptr && spec.uses_nodes();
  return {.max_heals = spec.failure_config.max_heals,
          .unwind_timeout_s = spec.timeout_s,
          .loss_timeout_s = has_hosts ? spec.failure_config.node_timeout_s + kLossMarginS : 0,
          .room_timeout_s = seconds_setting("RTRAIN_JOIN_TIMEOUT_S", spec.start_timeout_s),
          .can_carry = !has_hosts || !context_.nodes->spec().has_own_disks};
}

// An earlier failure stays the run's error: then this one is only reported.
void Controller::on_storage_error(const Error& error) {
  if (machine_.has_cause() && !machine_.storage_error) {
    events_.emit("notice", {{"level", "warning"}, {"text", error.message()}});
  }
  feed(decide::event::StorageFailed{error});
}

void Controller::start() {
  take_warnings();
  machine_.attempt = static_cast<int>(context_.record.last_attempt());
  events_.set_attempt(machine_.attempt);
  if (const std::string& text = context_.record.notice(); !text.empty()) {
    events_.emit("notice", {{"level", "info"}, {"text", text}});
  }
  checkpoints_.begin_run();
  events_.emit("state", {{"state", decide::state_name(machine_.state())}});
  open_commands();
  watch_runtime_folder();
  feed(decide::event::Started{});
}

// If this fails, the run continues without commands.
void Controller::open_commands() {
  try {
    commands_ = std::make_unique<OperatorCommands>(run_, machine_, *this);
  } catch (const Error& e) {
    events_.notice("warning",
                   cat("commands such as `rtrain stop` cannot reach this run: ", e.message()));
  }
}

void Controller::on_command(Value request, node::OperatorLinks::Reply reply) {
  if (commands_) return commands_->answer(std::move(request), std::move(reply));
  reply(Map{{"error", error_to_value(Error(Code::kEnvironment, "the run takes no commands"))}});
}

void Controller::ask_profiles(const ProfilePlan& plan, ProfileRequest::Done done) {
  attempt_->ask_profiles(plan, std::move(done));
}

void Controller::ask_stacks(StackRequest::Done done) {
  if (!attempt_) return done({});
  attempt_->ask_stacks(std::move(done));
}

void Controller::watch_runtime_folder() {
  const auto tell = [this](const std::string& path) {
    events_.notice("warning",
                   cat("the runtime folder ", path,
                       " is gone: `rtrain stop` and `rtrain stack` no "
                       "longer reach this run, and runs that start now do not know which cores and "
                       "GPUs it uses; set RTRAIN_RUNTIME_DIR to a folder that nothing removes"));
  };
  try {
    runtime_watch_ = std::make_unique<RuntimeWatch>(context_.loop, context_.io, tell);
  } catch (const Error&) {
    // open_commands() has reported it.
  }
}

void Controller::on_first_signal(decide::StopKind kind, int number) {
  request_stop(kind, StopSignals::name(number));
}

void Controller::request_stop(decide::StopKind kind, const std::string& by) {
  if (checkpoints_.is_draining()) checkpoints_.cancel();
  const bool was_stopping = machine_.stop.has_value();
  stop_by_ = by.empty() ? std::string(decide::stop_name(kind)) : by;
  feed(decide::event::StopRequested{kind, stop_by_});
  const bool has_course = attempt_ && attempt_->is_asked_to_stop();
  if (machine_.stop && !was_stopping && !has_course) tell_stopping(kind, 0);
}

void Controller::stop_now(decide::StopKind kind, const std::string& by) {
  if (checkpoints_.is_draining()) checkpoints_.cancel();
  if (!by.empty()) events_.record("info", cat("an end at once was requested: ", by));
  feed(decide::event::StopNow{kind, by});
}

// In local mode the train function has no other thread that could report its stacks.
void Controller::show_stacks(std::function<void()> then) {
  if (context_.spec.is_local || machine_.group.ranks.empty()) return then();
  attempt_->ask_stacks([this, then = std::move(then)](const std::vector<loop::RankStack>& stacks) {
    std::string text;
    for (const loop::RankStack& stack : stacks) text += stack_text(stack);
    events_.emit("stacks", {{"text", std::move(text)}});
    then();
  });
}

void Controller::events_taken() {
  if (attempt_) attempt_->on_written();
}

// If more output arrives than is written to the logs, it stays in the pipes of the workers and
// validations.
void Controller::hold_output() {
  const bool wanted = writer_.unwritten_bytes() > kMaxUnwrittenOutput;
  checkpoints_.hold_output(wanted);
  if (attempt_) attempt_->hold_output(wanted);
}

// Actions may cause events, which wait until all actions of the step before are performed.
void Controller::feed(decide::Event event) {
  struct Feeding {
    explicit Feeding(bool& flag) : flag(flag) { flag = true; }
    ~Feeding() { flag = false; }
    bool& flag;
  };
  waiting_.push_back(std::move(event));
  if (feeding_) return;
  const Feeding feeding(feeding_);  // cleared even if an action throws
  while (!waiting_.empty()) {
    const decide::RunState before = machine_.state();
    decide::Step next = decide::step(std::move(machine_), waiting_.front());
    waiting_.pop_front();
    machine_ = std::move(next.machine);
    events_.set_attempt(machine_.attempt);
    if (machine_.state() != before) tell_state();
    for (const decide::Action& action : next.actions) {
      std::visit([this](const auto& a) { perform(a); }, action);
    }
  }
}

void Controller::tell_state() {
  const std::string name(decide::state_name(machine_.state()));
  if (machine_.state() == decide::RunState::kRunning) running_since_s_ = monotonic_s();
  events_.emit("state", {{"state", name}, {"num_workers", machine_.num_workers}});
  if (!is_recorded(machine_.state())) return;
  io_.write([name](RunRecord& record) { record.set_status(name); });
}

}  // namespace rtrain::train
