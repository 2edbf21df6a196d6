// host/track/point_names.h: names of the points of train.log next to reported metrics, for
// programs that have one set of names: a point whose name is also a metric's is below "logged/".
#pragma once

#include <set>
#include <string>

#include "host/base/value.h"

namespace rtrain::track {

class PointNames {
 public:
  // Of a report.
  void add(const Value& metrics);
  std::string of(const std::string& key) const;

 private:
  std::set<std::string> reported_;
};

}  // namespace rtrain::track
