// host/decide/report_flow.h: when the controller acknowledges the ranks' reports, so that they may
// send more. Pure.
//
// A worker sends no more while many of its reports are not acknowledged; now and then it asks for
// an acknowledgement. The controller gives it when every rank has made these reports, but not while
// too many bytes wait to be written or too many reports are incomplete: that bounds its memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace rtrain::decide {

class ReportFlow {
 public:
  static constexpr size_t kMaxUnwrittenBytes = size_t{32} << 20;
  static constexpr size_t kMaxPending = 65536;

  explicit ReportFlow(int64_t first_index) : wanted_(first_index), acknowledged_(first_index) {}

  // A rank asks for the acknowledgement of the reports below `count`.
  void want(int64_t count) { wanted_ = std::max(wanted_, count); }

  // Returns the count to acknowledge to all ranks now; nullopt when no rank has asked for more, or
  // when it is too early. `least`: all ranks have made the reports below it. `pending`: the number
  // of incomplete reports.
  std::optional<int64_t> take(int64_t least, size_t unwritten_bytes, size_t pending) {
    if (acknowledged_ >= wanted_ || least <= acknowledged_) return std::nullopt;
    if (unwritten_bytes > kMaxUnwrittenBytes || pending > kMaxPending) return std::nullopt;
    acknowledged_ = least;
    return least;
  }

 private:
  int64_t wanted_;
  int64_t acknowledged_;
};

}  // namespace rtrain::decide
