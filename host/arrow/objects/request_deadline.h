// host/arrow/objects/request_deadline.h: a time limit for requests to stores whose client has none.
//
// Google's client waits 120 s for a server that accepts connections but never answers, and Arrow
// has no option for that. A request that takes too long is left behind in its thread.
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>

#include <chrono>
#include <future>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include "host/arrow/objects/request_retries.h"

namespace rtrain::arrow {

class RequestDeadline {
 public:
  RequestDeadline() = default;  // no limit
  // No limit for s3://: its client has time limits of its own (request_retries.h).
  explicit RequestDeadline(std::string_view scheme);

  bool has_limit() const { return limit_.has_value(); }

  // Returns the Status or Result of the call. Returns an IOError if the call takes longer than the
  // limit: it then ends in a thread of its own, so it must own everything that it uses.
  template <class Call>
  std::invoke_result_t<Call> operator()(Call call) const {
    if (!limit_) return call();
    std::packaged_task<std::invoke_result_t<Call>()> task(std::move(call));
    auto answer = task.get_future();
    try {
      std::thread(std::move(task)).detach();
    } catch (const std::system_error& e) {
      return ::arrow::Status::IOError("a request cannot start a thread: ", e.what());
    }
    if (answer.wait_for(kSilence) != std::future_status::ready) {
      tell_silence("no answer yet");
      if (answer.wait_for(*limit_ - kSilence) != std::future_status::ready) return timed_out();
    }
    return answer.get();
  }

 private:
  static constexpr std::chrono::seconds kSilence{5};

  ::arrow::Status timed_out() const;

  std::optional<std::chrono::duration<double>> limit_;
};

}  // namespace rtrain::arrow
