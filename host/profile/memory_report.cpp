#include "host/profile/memory_report.h"

#include <algorithm>

namespace rtrain::profile {
namespace {

constexpr size_t kMostKinds = 3;

Value to_value(const MemoryKind& kind);
Value to_value(const MemoryLine& line);
Value to_value(const MemoryTensor& tensor);
Value to_value(const MemoryCurve::Point& point);

template <class Item>
List first(const std::vector<Item>& items, size_t most) {
  List out;
  for (const Item& item : items) {
    if (out.size() == most) break;
    out.push_back(to_value(item));
  }
  return out;
}

Value to_value(const MemoryKind& kind) {
  return Map{{"kind", kind.text}, {"count", kind.count}, {"bytes", kind.bytes}};
}

Value to_value(const MemoryLine& line) {
  return Map{{"line", line.place},
             {"count", line.count},
             {"bytes", line.bytes},
             {"peak_bytes", line.peak_bytes},
             {"taken_count", line.taken_count},
             {"taken_bytes", line.taken_bytes},
             {"kinds", first(line.kinds, kMostKinds)}};
}

Value to_value(const MemoryTensor& tensor) {
  return Map{{"name", tensor.name},
             {"kind", tensor.kind},
             {"bytes", tensor.bytes},
             {"line", tensor.place},
             {"older", tensor.is_older}};
}

Value to_value(const MemoryCurve::Point& point) {
  return List{Value(point.seconds), Value(point.bytes)};
}

}  // namespace

void MemoryCurve::add(double seconds, int64_t bytes) {
  if (points_.empty() || in_last_ == per_point_) {
    if (points_.size() == kMostPoints) {
      for (size_t i = 0; i < kMostPoints / 2; ++i) {
        const Point& later = points_[2 * i + 1];
        points_[i] = {later.seconds, std::max(points_[2 * i].bytes, later.bytes)};
      }
      points_.resize(kMostPoints / 2);
      per_point_ *= 2;
    }
    points_.push_back({seconds, bytes});
    in_last_ = 1;
    return;
  }
  points_.back() = {seconds, std::max(points_.back().bytes, bytes)};
  ++in_last_;
}

Value to_value(const MemoryReport& report, size_t most) {
  List devices;
  for (const DeviceReport& device : report.devices) {
    devices.emplace_back(Map{{"device", device.device},
                             {"begin_bytes", device.begin_bytes},
                             {"end_bytes", device.end_bytes},
                             {"peak_bytes", device.peak_bytes},
                             {"new_bytes", device.new_bytes},
                             {"taken_count", device.num_taken},
                             {"reachable_bytes", device.reachable_bytes},
                             {"curve", first(device.curve.points(), MemoryCurve::kMostPoints)},
                             {"lines", first(device.lines, most)},
                             {"num_lines", device.lines.size()},
                             {"tensors", first(device.tensors, most)}});
  }
  return Map{{"names", report.has_names}, {"devices", std::move(devices)}};
}

}  // namespace rtrain::profile
