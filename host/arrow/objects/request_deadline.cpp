#include "host/arrow/objects/request_deadline.h"

#include <algorithm>

#include "host/base/text/text.h"

namespace rtrain::arrow {
namespace {

// Google's client repeats a failed request for 5 s (open_bucket) and then says why it failed. A
// call may make two requests.
constexpr std::chrono::seconds kLeast{20};

}  // namespace

RequestDeadline::RequestDeadline(std::string_view scheme) {
  if (scheme != "s3") limit_ = std::max<std::chrono::duration<double>>(store_patience(), kLeast);
}

::arrow::Status RequestDeadline::timed_out() const {
  return ::arrow::Status::IOError(
      cat("Timeout was reached: no answer within ", format_double(limit_->count()), " s"));
}

}  // namespace rtrain::arrow
