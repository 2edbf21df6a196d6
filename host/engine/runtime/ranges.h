// host/engine/runtime/ranges.h: ranges that a user's program, or this one, marks in a profile.
#pragma once

#include <ATen/record_function.h>

#include <string>
#include <string_view>

namespace rtrain {

// The name as a trace can hold it: LibTorch writes "unknown" for one that JSON would have to
// escape.
std::string trace_name(std::string_view name);

// Seen as a range of that name for its lifetime; on one thread. One that began before the recording
// is not seen.
class ProfileRange {
 public:
  explicit ProfileRange(std::string_view name) : function_(at::RecordScope::USER_SCOPE) {
    if (function_.isActive()) function_.before(trace_name(name));
  }

 private:
  at::RecordFunction function_;
};

// The ranges of the calling thread that have no object.
void push_range(const char* name);
void pop_range();

}  // namespace rtrain
