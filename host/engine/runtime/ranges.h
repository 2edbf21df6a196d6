// host/engine/runtime/ranges.h: named ranges in a profile, marked by the user's program or by
// rtrain.
#pragma once

#include <ATen/record_function.h>

#include <string>
#include <string_view>

namespace rtrain::engine {

// Replaces characters that JSON would escape, because LibTorch writes "unknown" for such
// names.
std::string trace_name(std::string_view name);

// While it exists, the calling thread is in a range of that name. A range that began before the
// recording is not recorded.
class ProfileRange {
 public:
  explicit ProfileRange(std::string_view name) : function_(at::RecordScope::USER_SCOPE) {
    if (function_.isActive()) function_.before(trace_name(name));
  }

 private:
  at::RecordFunction function_;
};

// Ranges of the calling thread without an object.
void push_range(const char* name);
void pop_range();

}  // namespace rtrain::engine
