#include "host/arrow/objects/request_deadline.h"

#include <algorithm>

#include "host/arrow/objects/request_retries.h"

namespace rtrain::arrow {

RequestDeadline::RequestDeadline(std::string_view scheme) {
  // A patience of 0 s is that for another attempt: a slow answer is still an answer.
  if (scheme != "s3") limit_ = std::max<std::chrono::duration<double>>(store_patience(), kSilence);
}

void RequestDeadline::say_silence() const { tell_silence("no answer yet"); }

::arrow::Status RequestDeadline::timed_out() const {
  return ::arrow::Status::IOError("Timeout was reached: no answer within ", limit_->count(), " s");
}

}  // namespace rtrain::arrow
