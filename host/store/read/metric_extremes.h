// host/store/read/metric_extremes.h: the least, the largest and the last value of a metric of a
// run, for a process that asks repeatedly.
//
// Of the finite values that rank 0 has reported, else logged; superseded ones do not count. What
// is known of a run stays valid until its controller writes again. Memory is bounded. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "host/store/db/database.h"

namespace rtrain::store {

// Nothing without a finite value.
struct Extremes {
  std::optional<double> least;
  std::optional<double> most;
  std::optional<double> last;
};

class MetricExtremes {
 public:
  // `updated_at`: as in the run's row.
  Extremes of(Database& database, const std::string& run_id, int64_t updated_at,
              const std::string& metric);

 private:
  struct Known {
    int64_t updated_at = 0;
    Extremes extremes;
  };

  std::mutex mutex_;
  std::unordered_map<std::string, Known> known_;  // by metric and run
};

}  // namespace rtrain::store
