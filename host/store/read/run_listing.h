// host/store/read/run_listing.h: the runs of a store as rows, chosen and sorted by what a user
// wrote.
//
// The last metrics of a run are columns too, and so are its config's values. Wrong names and
// expressions are Error(kUsage).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/value.h"
#include "host/store/db/database.h"

namespace rtrain {

struct RunFilter {
  std::string where;  // an SQL expression over host/store/read/listing_columns.h; empty: all
  std::string sort;   // a column; a leading "-" turns the order round; empty: newest first
  std::optional<int64_t> limit = {};
  int64_t offset = 0;                  // where there is a limit: of the first row
  std::vector<std::string> tags = {};  // a run has all of them
  bool archived = false;               // also the runs that are archived
  double time_limit_s = 0;             // that the expressions may take; 0: any
};

class RunListing {
 public:
  // The database has the functions of run_functions.h, and outlives this.
  explicit RunListing(Database& database);

  // {name, run_id, status, num_workers, started_at, ended_at, duration_s, waiting_s, running_s,
  // script, metrics, tags}; where the filter takes archived ones, also `archived`.
  List rows(const RunFilter& filter);
  // That of one run, which is there.
  Value row(const std::string& run_id);
  bool is_archived(const std::string& run_id);
  // How many there are, whatever the limit.
  int64_t count(RunFilter filter);
  // {status: number} of all runs, archived ones too.
  Map count_by_status();
  // The ids alone, in order.
  std::vector<std::string> ids(const RunFilter& filter);

 private:
  std::string table() const;
  Statement row_query();  // its parameter is a run's id
  std::string query_text(const RunFilter& filter, std::string_view columns);
  // Calls use(row) with those columns of each run, in order.
  template <class Use>
  void each(const RunFilter& filter, std::string_view columns, const Use& use);

  Database& database_;
  bool knows_archive_;  // false in a store of an older rtrain
};

}  // namespace rtrain
