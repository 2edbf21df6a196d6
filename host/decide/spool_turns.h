// host/decide/spool_turns.h: which of a rank's two spool files its next report goes into
// (host/store/runs/report_spool.h). Pure.
//
// The files take turns. One is begun again only when the controller has all that is in it, so what
// it does not have is in the two; and as soon as the other one is long enough, so both stay short.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rtrain::decide {

class SpoolTurns {
 public:
  // A file that is shorter is not left for the other one.
  static constexpr uint64_t kTurnBytes = uint64_t{256} << 10;

  struct Place {
    size_t file = 0;
    uint64_t at = 0;
    bool is_begun_again = false;  // the file is to be cut before
  };
  // Of the next report, where the controller has those below `acknowledged`.
  Place next(int64_t acknowledged) const {
    const size_t other = 1 - current_;
    const bool is_long = files_.at(current_).bytes >= kTurnBytes;
    if (!is_long || files_.at(other).last_index >= acknowledged)
      return {.file = current_, .at = files_.at(current_).bytes};
    return {.file = other, .at = 0, .is_begun_again = true};
  }

  // A report is there, with that many bytes.
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
