// host/profile/memory_report.h: what a memory profile of a process says: for each device how much
// its tensors had, over time, and who has it: lines of the script, and tensors by their names.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "host/base/value.h"
#include "host/profile/memory_ledger.h"

namespace rtrain::profile {

// What the name of a file with one ends in: "20261122-015900.123-attempt-2-rank0.memory.json".
inline constexpr const char* kMemoryReportEnding = ".memory.json";

// A curve of any length with a bounded number of points, each with the largest value of its part.
class MemoryCurve {
 public:
  struct Point {
    double seconds = 0;  // the end of its part
    int64_t bytes = 0;
  };
  static constexpr size_t kMostPoints = 240;

  void add(double seconds, int64_t bytes);
  const std::vector<Point>& points() const { return points_; }

 private:
  std::vector<Point> points_;
  int64_t per_point_ = 1;  // values
  int64_t in_last_ = 0;
};

// A tensor that the script can reach.
struct MemoryTensor {
  std::string name;   // "model.fc.weight"; "" where it has none
  std::string kind;   // "float32 [2, 3]"
  std::string place;  // of the line that made it; "" where that is not known
  int64_t bytes = 0;
  bool is_older = false;  // it was there when the recording began
};

struct DeviceReport {
  std::string device;  // "cpu", "cuda:0"
  int64_t begin_bytes = 0;
  int64_t end_bytes = 0;
  int64_t peak_bytes = 0;  // the most meanwhile
  int64_t new_bytes = 0;   // of what was made meanwhile and is alive
  int64_t num_taken = 0;
  MemoryCurve curve = {};
  std::vector<MemoryLine> lines = {};
  std::vector<MemoryTensor> tensors = {};  // the largest first, new ones before older ones
  int64_t reachable_bytes = 0;             // of all tensors that the script can reach
};

struct MemoryReport {
  std::vector<DeviceReport> devices;
  // Whether the script's names could be looked at, at its end.
  bool has_names = false;
};

// With the `most` first lines and tensors of each device, and how many there are.
Value to_value(const MemoryReport& report, size_t most);

}  // namespace rtrain::profile
