// host/decide/report_flow.h: when the ranks' reports are acknowledged, so that they may send
// more. Pure.
//
// A worker holds itself back while many of its reports are not acknowledged, and asks for an
// acknowledgement now and then. It comes when every rank has made those reports, and not while too
// much waits to be written or to become complete: the reports on their way stay bounded.
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

  // The count to acknowledge to all ranks now; nothing when there is nothing new that they asked
  // for.
  // `least`: all ranks have made the reports below it.
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
