// host/decide/spool_turns.h: chooses which of a rank's two spool files its next report goes into
// (host/store/runs/report_spool.h). Pure.
//
// The files take turns: when one is long enough the other is truncated and used. So both stay
// short. A file is truncated only when the controller has all its reports.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rtrain::decide {

class SpoolTurns {
 public:
  // The rank stays with a file that is shorter.
  static constexpr uint64_t kTurnBytes = uint64_t{256} << 10;

  struct Place {
    size_t file = 0;
    uint64_t at = 0;
    bool is_begun_again = false;  // the file is to be truncated first
  };
  // Where the next report goes. The controller has the reports below `acknowledged`.
  Place next(int64_t acknowledged) const {
    const size_t other = 1 - current_;
    const bool is_long = files_.at(current_).bytes >= kTurnBytes;
    if (!is_long || files_.at(other).last_index >= acknowledged)
      return {.file = current_, .at = files_.at(current_).bytes};
    return {.file = other, .at = 0, .is_begun_again = true};
  }

  // The report with number `index` was written at `place`, with this many bytes.
  void add(const Place& place, int64_t index, uint64_t bytes) {
    current_ = place.file;
    files_.at(current_) = {.bytes = place.at + bytes, .last_index = index};
  }

 private:
  struct File {
    uint64_t bytes = 0;
    int64_t last_index = -1;
  };

  std::array<File, 2> files_;
  size_t current_ = 0;
};

}  // namespace rtrain::decide
