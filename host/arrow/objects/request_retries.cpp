#include "host/arrow/objects/request_retries.h"

#include <arrow/filesystem/s3fs.h>

#include <algorithm>
#include <any>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "host/base/seconds_setting.h"

namespace rtrain::arrow {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kPatienceS = 60;
constexpr std::chrono::seconds kSilence{20};
constexpr const char* kTimeout = "Timeout was reached";  // libcurl's text
constexpr int64_t kFirstDelayMs = 50;
constexpr int64_t kLongestDelayMs = 2000;

int64_t delay_before(int64_t retry) {
  return std::min(kFirstDelayMs << std::min<int64_t>(retry, 10), kLongestDelayMs);
}

// The client repeats a request in the thread that made it, so thread_local state belongs to one
// request.
class Retries final : public ::arrow::fs::S3RetryStrategy {
 public:
  bool ShouldRetry(const AWSErrorDetail& error, int64_t retries) override {
    thread_local Clock::time_point first;
    thread_local Clock::time_point last;
    const auto now = Clock::now();
    if (retries == 0) first = last = now;
    const auto attempt = now - std::exchange(last, now);  // includes the delay before the attempt
    const std::chrono::milliseconds delay(delay_before(retries));
    const auto end = now + std::max<Clock::duration>(attempt, delay);
    if (!error.should_retry || end - first > store_patience()) return false;
    if (error.message.find(kTimeout) != std::string::npos) tell_silence(error.message);
    return true;
  }

  int64_t CalculateDelayBeforeNextRetry(const AWSErrorDetail& /*error*/, int64_t retries) override {
    return delay_before(retries);
  }
};

}  // namespace

std::chrono::duration<double> store_patience() {
  return std::chrono::duration<double>(
      seconds_setting("RTRAIN_STORE_PATIENCE_S", kPatienceS, ZeroSeconds::kAllowed));
}

void tell_silence(const std::string& reason) {
  static std::mutex mutex;
  static std::optional<Clock::time_point> told;
  const auto now = Clock::now();
  const std::lock_guard lock(mutex);
  if (told && now - *told < kSilence) return;
  told = now;
  std::fprintf(stderr,
               "rtrain: the object store does not answer; it is asked again for up to %g s "
               "(RTRAIN_STORE_PATIENCE_S): %s\n",
               store_patience().count(), reason.c_str());
}

::arrow::fs::FileSystemFactoryOptions s3_request_options() {
  const std::shared_ptr<::arrow::fs::S3RetryStrategy> retries = std::make_shared<Retries>();
  return {{"retry_strategy", std::any(retries)}};
}

}  // namespace rtrain::arrow
