#include "host/train/failure_policy.h"

#include <algorithm>
#include <cmath>

#include "host/base/text.h"

namespace rtrain {
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
      return true;
    default:
      return false;
  }
}

bool is_users(Code code) { return code == Code::kUser || code == Code::kArgument; }

// Text and call site: the message begins with the site, the traceback has the callers.
std::string identity(const Error& error) { return cat(error.message(), "\n", error.traceback()); }

}  // namespace

FailurePolicy::FailurePolicy(int max_failures, uint64_t seed)
    : max_failures_(max_failures), random_(seed) {}

FailureDecision FailurePolicy::decide(const Failure& failure) {
  ++failures_;
  failures_since_progress_ = failure.new_checkpoint ? 1 : failures_since_progress_ + 1;
  const bool repeated = is_repeated(failure);
  last_user_error_ = is_users(failure.error.code()) ? identity(failure.error) : "";
  if (is_final(failure.error.code())) {
    return {.reason =
                cat("an error of kind '", code_name(failure.error.code()), "' is not retried")};
  }
  if (max_failures_ >= 0 && failures_ > max_failures_) {
    return {.reason = max_failures_ == 0
                          ? ""
                          : cat(max_failures_ == 1 ? "the retry is"
                                                   : cat("all ", max_failures_, " retries are"),
                                " used up")};
  }
  if (repeated) {
    return {.reason = "the same error came twice, without a new checkpoint in between"};
  }
  const std::string limit = max_failures_ < 0 ? "" : cat(" of ", max_failures_);
  return {.retry = true, .delay_s = next_delay(), .reason = cat("retry ", failures_, limit)};
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

}  // namespace rtrain
