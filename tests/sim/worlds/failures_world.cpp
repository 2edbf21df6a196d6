#include "tests/sim/worlds/failures_world.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "host/base/text/text.h"

namespace rtrain::sim {
namespace {

constexpr int kMostSteps = 30;
const std::set kFinal = {Code::kConfig,      Code::kEnvironment, Code::kUsage,
                         Code::kUnsupported, Code::kInterrupted, Code::kTerminated,
                         Code::kNotFinite};
const std::set kUsers = {Code::kUser, Code::kArgument, Code::kOutOfMemory};

}  // namespace

FailuresWorld::FailuresWorld(Draws& draws)
    : draws_(draws),
      limits_{.max_failures = draws.below(5) - 1,
              .controller_failure_limit = draws.below(5) - 1,
              .max_preemption_failures = draws.below(5) - 1,
              .reset_after_s = draws.chance(0.5) ? 100.0 : 0},
      policy_(limits_, 1) {}

void FailuresWorld::live() {
  const int num_steps = 1 + draws_.below(kMostSteps);
  for (int i = 0; i < num_steps; ++i) draws_.chance(0.1) ? replace_controller() : fail();
}

// The new controller restores the counts from the run's row.
void FailuresWorld::replace_controller() {
  tell([] { return "policy = FailurePolicy(limits, 1, policy.counts());"; });
  const Value row = policy_.counts().to_value();
  policy_ = decide::FailurePolicy(limits_, 1, decide::FailureCounts::from_value(row));
  since_progress_ = 0;
  last_.clear();
}

decide::Failure FailuresWorld::make_failure() {
  constexpr std::array kCodes = {Code::kWorkerLost,  Code::kUser,        Code::kOutOfMemory,
                                 Code::kArgument,    Code::kConfig,      Code::kEnvironment,
                                 Code::kPeerLost,    Code::kTimeout,     Code::kUsage,
                                 Code::kUnsupported, Code::kInterrupted, Code::kTerminated,
                                 Code::kNotFinite,   Code::kCheckpoint};
  const Code code = kCodes.at(static_cast<size_t>(draws_.below(kCodes.size())));
  const std::string site = cat("train.lua:", draws_.below(2));
  std::string text = cat(site, ": ", code_name(code));
  // The sizes of tensors and memory differ each time.
  if (code == Code::kOutOfMemory) text = cat(site, ": out of memory, ", draws_.below(100), " MB");
  if (code == Code::kEnvironment && draws_.chance(0.5)) text = "write: No space left on device";
  const std::string traceback = cat("  with tensors ", draws_.below(100), "\n  in f");
  return {.error = Error(code, text, traceback),
          .new_checkpoint = draws_.chance(0.4),
          .kind = static_cast<decide::FailureKind>(draws_.below(3)),
          .transient = draws_.chance(0.2),
          .ran_s = draws_.below(4) * 50.0};
}

void FailuresWorld::fail() {
  const decide::Failure failure = make_failure();
  const Code code = failure.error.code();
  if (limits_.reset_after_s > 0 && failure.ran_s >= limits_.reset_after_s) {
    counts_.clear();
    since_progress_ = 0;
    last_.clear();
    mark("all was forgiven");
  }
  const int count = ++counts_[failure.kind];
  const std::string what =
      kUsers.contains(code)
          ? cat(code_name(code), failure.error.message().substr(0, sizeof("train.lua:")))
          : "";
  const bool repeats = !failure.new_checkpoint && !what.empty() && what == last_;
  last_ = what;
  since_progress_ = failure.new_checkpoint ? 1 : since_progress_ + 1;
  tell([&] {
    return cat("policy.decide({Error(Code(", static_cast<int>(code), "), \"",
               failure.error.message(), "\"), ", int{failure.new_checkpoint}, ", FailureKind(",
               static_cast<int>(failure.kind), "), ", int{failure.transient}, ", ", failure.ran_s,
               "});");
  });
  const decide::FailureDecision decision = policy_.decide(failure);
  const std::map<decide::FailureKind, int> limits = {
      {decide::FailureKind::kWorkerGroup, limits_.max_failures},
      {decide::FailureKind::kController, limits_.controller_failure_limit},
      {decide::FailureKind::kPreemption, limits_.max_preemption_failures}};
  const int limit = limits.at(failure.kind);
  const bool has_budget = limit < 0 || count <= limit;
  const bool may_pass = failure.transient || failure.error.message().ends_with("left on device");
  const bool is_final = kFinal.contains(code) && !may_pass;
  demand(!decision.retry || has_budget, "a failure is tried again beyond its budget");
  demand(!decision.retry || !is_final, "an error that stays is tried again");
  demand(!decision.retry || !repeats, "an error that comes again at the same place is tried again");
  demand(decision.retry || !has_budget || is_final || repeats,
         "a failure that has a budget is not tried again");
  const bool is_silent =
      limits_.max_failures == 0 &&
      (is_final || (!has_budget && failure.kind == decide::FailureKind::kWorkerGroup));
  demand(decision.reason.empty() == is_silent, "a decision without a reason, or a reason too many");
  if (decision.retry) check_delay(decision.delay_s);
  mark(decision.retry ? "tried again" : "not tried again");
}

void FailuresWorld::check_delay(double delay_s) {
  if (since_progress_ <= 1) return demand(delay_s == 0, "the first retry waits");
  const double most = std::min(60.0, std::pow(2, since_progress_ - 2));
  demand(delay_s <= most && delay_s >= most * 0.75, "a retry waits for another time");
}

}  // namespace rtrain::sim
