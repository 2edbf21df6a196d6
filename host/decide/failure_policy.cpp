#include "host/decide/failure_policy.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "host/base/text/text.h"

namespace rtrain::decide {
namespace {

constexpr double kFirstDelay = 1;
constexpr double kMaxDelay = 60;

bool is_final(Code code) {
  switch (code) {
    case Code::kConfig:
    case Code::kEnvironment:
    case Code::kUsage:
    case Code::kUnsupported:
    case Code::kInterrupted:
    case Code::kTerminated:
    case Code::kNotFinite:
      return true;
    default:
      return false;
  }
}

// Errors that the same program raises again on the same data.
bool is_users(Code code) {
  return code == Code::kUser || code == Code::kArgument || code == Code::kOutOfMemory;
}

// A user may delete files, so this error may pass. It comes from the store, from LibTorch or from
// the user's own files, and in each case its message contains the system's text.
bool is_full_disk(const Error& error) {
  const auto says = [&error](std::string_view text) {
    return error.message().find(text) != std::string::npos;
  };
  return says("No space left on device") || says("Disk quota exceeded") || says("disk is full");
}

// The traceback without the lines about tensors: their sizes may differ between two attempts.
std::string frames_of(const Error& error) {
  std::vector<std::string> lines = split(error.traceback(), '\n');
  std::erase_if(lines, [](const std::string& line) { return line.starts_with("  with "); });
  return join(lines, "\n");
}

// The text and the place of an error: its message begins with the line, its traceback has the
// callers. Of an out-of-memory error the figures are left out, since they differ each time.
std::string identity(const Error& error) {
  const std::string_view message = error.message();
  const bool has_figures = error.code() == Code::kOutOfMemory;
  return cat(has_figures ? message.substr(0, message.find("out of memory")) : message, "\n",
             frames_of(error));
}

}  // namespace

Value FailureCounts::to_value() const {
  return Map{{"worker", worker_group}, {"controller", controller}, {"preemption", preemption}};
}

FailureCounts FailureCounts::from_value(const Value& value) {
  return {.worker_group = static_cast<int>(value["worker"].int_or(0)),
          .controller = static_cast<int>(value["controller"].int_or(0)),
          .preemption = static_cast<int>(value["preemption"].int_or(0))};
}

FailurePolicy::FailurePolicy(const FailureLimits& limits, uint64_t seed, const FailureCounts& spent)
    : limits_(limits), random_(seed), counts_(spent) {}

FailurePolicy::Budget FailurePolicy::budget(FailureKind kind) {
  switch (kind) {
    case FailureKind::kController:
      return {limits_.controller_failure_limit, counts_.controller, "controller_failure_limit"};
    case FailureKind::kPreemption:
      return {limits_.max_preemption_failures, counts_.preemption, "max_preemption_failures"};
    default:
      return {limits_.max_failures, counts_.worker_group, "max_failures"};
  }
}

// An attempt has run for a long time: the failures before it have other causes, and do not count.
void FailurePolicy::forgive() {
  counts_ = {};
  failures_since_progress_ = 0;
  last_user_error_.clear();
}

FailureDecision FailurePolicy::decide(const Failure& failure) {
  if (limits_.reset_after_s > 0 && failure.ran_s >= limits_.reset_after_s) forgive();
  const Budget budget = this->budget(failure.kind);
  ++budget.count;
  failures_since_progress_ = failure.new_checkpoint ? 1 : failures_since_progress_ + 1;
  const bool repeated = is_repeated(failure);
  last_user_error_ = is_users(failure.error.code()) ? identity(failure.error) : "";
  const bool may_pass = failure.transient || is_full_disk(failure.error);
  if (is_final(failure.error.code()) && !may_pass) {
    if (limits_.max_failures == 0) return {};  // the user has not asked for retries
    return {.reason =
                cat("an error of kind '", code_name(failure.error.code()), "' is not retried")};
  }
  if (budget.limit >= 0 && budget.count > budget.limit) return {.reason = used_up(budget)};
  if (repeated) {
    return {.reason = "the same error came twice, without a new checkpoint in between"};
  }
  const std::string limit = budget.limit < 0 ? cat(" of any number (", budget.setting, " = -1)")
                                             : cat(" of ", budget.limit);
  return {.retry = true, .delay_s = next_delay(), .reason = cat("retry ", budget.count, limit)};
}

// Empty where max_failures is 0: the user has not asked for retries, and needs no explanation.
std::string FailurePolicy::used_up(const Budget& budget) const {
  if (budget.limit == 0 && &budget.count == &counts_.worker_group) return "";
  const std::string what = budget.limit == 0   ? "no retry is allowed"
                           : budget.limit == 1 ? "the retry is used up"
                                               : cat("all ", budget.limit, " retries are used up");
  return cat(what, " (", budget.setting, " = ", budget.limit, ")");
}

bool FailurePolicy::is_repeated(const Failure& failure) const {
  return !failure.new_checkpoint && is_users(failure.error.code()) &&
         identity(failure.error) == last_user_error_;
}

double FailurePolicy::next_delay() {
  if (failures_since_progress_ <= 1) return 0;
  random_ = random_ * 6364136223846793005U + 1442695040888963407U;
  const double fraction = static_cast<double>(random_ >> 11) / 0x1p53;
  const double delay = std::min(kMaxDelay, kFirstDelay * std::exp2(failures_since_progress_ - 2));
  return delay * (1 - fraction / 4);
}

}  // namespace rtrain::decide
