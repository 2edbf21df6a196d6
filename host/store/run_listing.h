// host/store/run_listing.h: the runs of a store as rows, chosen and sorted by what a user wrote.
//
// The last metrics of a run are columns too. Wrong names and expressions are Error(kUsage).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/base/value.h"
#include "host/store/database.h"

namespace rtrain {

struct RunFilter {
  std::string where;  // an SQL expression over the columns of a run and its metrics; empty: all
  std::string sort;   // a column; a leading "-" turns the order round; empty: newest first
  std::optional<int64_t> limit;
};

class RunListing {
 public:
  // The database has the functions of run_functions.h, and outlives this.
  explicit RunListing(Database& database) : database_(database) {}

  // {name, run_id, status, num_workers, started_at, ended_at, duration_s, waiting_s, running_s,
  // script, metrics, tags}
  List rows(const RunFilter& filter);
  // That of one run, which is there.
  Value row(const std::string& run_id);

 private:
  std::vector<std::string> metric_names();
  std::string query_text(const RunFilter& filter);

  Database& database_;
};

}  // namespace rtrain
