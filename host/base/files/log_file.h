// host/base/files/log_file.h: a log of bounded size in parts: PATH, which grows, and one full part
// before it.
//
// A part is full at half of the limit. It is then renamed to PATH.1, the next one to PATH.2, and
// the previous full part is deleted. So at least half of the limit is kept, and the number says how
// many parts were filled. If possible, parts end at the end of a line. Another file next to each
// part has the times of its bytes (host/base/files/log_times.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "host/base/files/fd.h"
#include "host/base/files/log_times.h"

namespace rtrain {

class LogFile {
 public:
  // Opens nothing yet. Limit 0 means no limit.
  LogFile(std::string path, int64_t limit_bytes);

  // Appends output printed at that time (milliseconds since 1970), and removes what it has written
  // from the front of `bytes`. Returns 0 or an errno.
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

// The number of the full part; 0 if there is none.
int64_t last_log_part(const std::string& path);
std::string log_part_path(const std::string& path, int64_t number);

}  // namespace rtrain
