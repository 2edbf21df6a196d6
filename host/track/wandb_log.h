// host/track/wandb_log.h: the file of a W&B run, run-ID.wandb: records in LevelDB's log format,
// after a header of seven bytes.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

namespace rtrain::track {

class WandbLog {
 public:
  // `size`: of an older object's file, whose later bytes are dropped; 0 for a new file. Throws
  // Error(kEnvironment).
  WandbLog(std::string path, int64_t size);

  void add(std::string_view record);
  // Writes all records to the file and returns its size. Throws Error(kEnvironment).
  int64_t flush();

 private:
  void write(std::string_view bytes);

  std::string path_;
  std::ofstream out_;
  int64_t size_;
};

}  // namespace rtrain::track
