#include "host/track/point_names.h"

#include "host/base/codec/metric_path.h"
#include "host/base/text/text.h"

namespace rtrain::track {

void PointNames::add(const Value& metrics) {
  each_metric(metrics, [&](const std::string& name, const Value&) { reported_.insert(name); });
}

std::string PointNames::of(const std::string& key) const {
  return reported_.contains(key) ? cat("logged/", key) : key;
}

}  // namespace rtrain::track
