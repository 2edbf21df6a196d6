// host/profile/memory_report.h: a memory profile of a process: for each device the bytes of its
// tensors over time, and the lines and the named tensors of the script that hold them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "host/base/value.h"
#include "host/profile/memory_ledger.h"

namespace rtrain::profile {

// The end of a report's file name: "20261122-015900.123-attempt-2-rank0.memory.json".
inline constexpr const char* kMemoryReportEnding = ".memory.json";

// A curve with a limited number of points. Each has the largest of the values that it stands for.
class MemoryCurve {
 public:
  struct Point {
    double seconds = 0;  // of the last value that it stands for
    int64_t bytes = 0;
  };
  static constexpr size_t kMostPoints = 240;

  void add(double seconds, int64_t bytes);
  const std::vector<Point>& points() const { return points_; }

 private:
  std::vector<Point> points_;
  int64_t per_point_ = 1;  // values in a point
  int64_t in_last_ = 0;
};

// A tensor that the script can reach.
struct MemoryTensor {
  std::string name;   // "model.fc.weight"; "" where it has none
  std::string kind;   // "float32 [2, 3]"
  std::string place;  // the line that made it; "" where unknown
  int64_t bytes = 0;
  bool is_older = false;  // it existed when the recording began
};

struct DeviceReport {
  std::string device;  // "cpu", "cuda:0"
  int64_t begin_bytes = 0;
  int64_t end_bytes = 0;
  int64_t peak_bytes = 0;  // the most during the recording
  int64_t new_bytes = 0;   // of tensors made during the recording and not freed
  int64_t num_taken = 0;
  MemoryCurve curve = {};
  std::vector<MemoryLine> lines = {};
  std::vector<MemoryTensor> tensors = {};  // the largest first, new ones before older ones
  int64_t reachable_bytes = 0;             // of all tensors that the script can reach
};

struct MemoryReport {
  std::vector<DeviceReport> devices;
  // Whether the names of the script's tensors were found at the end.
  bool has_names = false;
};

// The report with the first `most` lines and tensors of each device, and the numbers of all.
Value to_value(const MemoryReport& report, size_t most);

}  // namespace rtrain::profile
