// host/store/read/run_listing.h: lists a store's runs as rows, filtered and sorted by a user's
// expressions.
//
// Expressions may use a run's columns, last metrics and config values. Wrong names and expressions
// are Error(kUsage).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/value.h"
#include "host/store/db/database.h"

namespace rtrain::store {

struct RunFilter {
  std::string where;  // an SQL expression over host/store/read/listing_columns.h; empty: all
  std::string sort;   // a column, with "-" descending; empty: newest first
  std::optional<int64_t> limit = {};
  int64_t offset = 0;                  // first row, if there is a limit
  std::vector<std::string> tags = {};  // the run must have all of them
  bool archived = false;               // includes archived runs
  double time_limit_s = 0;             // time limit for expressions; 0: none
};

class RunListing {
 public:
  // The database must have the functions of run_functions.h and outlive this object.
  explicit RunListing(Database& database);

  // {name, run_id, status, num_workers, started_at, ended_at, duration_s, waiting_s, running_s,
  // script, metrics, tags}; also `archived` if the filter includes archived runs.
  List rows(const RunFilter& filter);
  // The row of one run, which must exist.
  Value row(const std::string& run_id);
  bool is_archived(const std::string& run_id);
  // The number of matching runs, ignoring the limit.
  int64_t count(RunFilter filter);
  // {status: number} of all runs, including archived ones.
  Map count_by_status();
  // {tag, runs, started_at} of all tags: the number of runs with it and the start of the newest
  // one; newest tag first.
  List tags();
  // Only the ids, in order.
  std::vector<std::string> ids(const RunFilter& filter);

 private:
  std::string table() const;
  Statement row_query();  // its parameter is a run's id
  std::string query_text(const RunFilter& filter, std::string_view columns);
  // Calls use(row) with those columns for each run, in order.
  template <class Use>
  void each(const RunFilter& filter, std::string_view columns, const Use& use);

  Database& database_;
  bool knows_archive_;  // false in a store of an older rtrain
};

}  // namespace rtrain::store
