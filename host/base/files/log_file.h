// host/base/files/log_file.h: a log of bounded size, in parts: PATH, which grows, and one full part
// before it.
//
// A part is full at half of the limit; it is then named PATH.1, the next one PATH.2, and the part
// before it goes. So at least half of the limit is kept, and the number says how many parts there
// have been. Parts end with a line where one ends in them. Each has a file with the times of its
// bytes (host/base/files/log_times.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "host/base/files/fd.h"
#include "host/base/files/log_times.h"

namespace rtrain {

class LogFile {
 public:
  // Opens nothing yet. A limit of 0 is none.
  LogFile(std::string path, int64_t limit_bytes);

  // Appends what was printed at that time (milliseconds since 1970), and takes from the front of
  // `bytes` what it has written. Returns 0, or the errno of what failed.
  int write(std::string_view& bytes, int64_t time_ms);

 private:
  int open();
  int begin_part();

  std::string path_;
  int64_t part_bytes_;
  int64_t size_ = 0;
  Fd file_;
  LogTimesWriter times_;
};

// The full part that is kept: its number, 0 when there is none.
int64_t last_log_part(const std::string& path);
std::string log_part_path(const std::string& path, int64_t number);

}  // namespace rtrain
