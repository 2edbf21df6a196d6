// host/store/read/run_listing.h: lists a store's runs as rows, filtered and sorted by a user's
// expressions.
//
// Expressions may use a run's columns, last metrics and config values; an order also min(METRIC),
// max(METRIC) and last(METRIC). Wrong names and expressions are Error(kUsage).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/value.h"
#include "host/store/db/database.h"

namespace rtrain::store {

class ListingColumns;

struct RunFilter {
  std::string where;  // an SQL expression over host/store/read/listing_columns.h; empty: all
  std::string sort;   // a column, with "-" descending; empty: newest first
  std::optional<int64_t> limit = {};
  int64_t offset = 0;                      // first row, if there is a limit
  std::vector<std::string> tags = {};      // the run must have all of them
  bool archived = false;                   // includes archived runs
  double time_limit_s = 0;                 // time limit for expressions; 0: none
  std::vector<std::string> statuses = {};  // the run must have one of them, if there are any
  // Each word must be a part of the run's name, note, tags or config, in any case.
  std::string text = {};
  // Columns and their values, which must be the run's: a number, a string or nil.
  std::vector<std::pair<std::string, Value>> values = {};
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
  // The values of columns of a run, with nil for a column that no run has: a list for each id.
  // The names are those of an order.
  List cells(const List& ids, const std::vector<std::string>& names);
  // Throws Error(kUsage), which begins with the option and has a suggestion, for a name of a column
  // that no run has.
  void check_names(std::string_view option, const std::vector<std::string>& names);
  // Calls see(values) for each run, in order, with the values of the columns.
  void each_cells(const RunFilter& filter, const std::vector<std::string>& names,
                  const std::function<void(const List& cells)>& see);

 private:
  std::string table() const;
  std::string list(const ListingColumns& columns) const;
  Statement row_query();  // its parameter is a run's id
  std::string conditions(const RunFilter& filter, ListingColumns& columns);
  std::string query_text(const RunFilter& filter, ListingColumns& columns,
                         std::string_view selected);
  // Calls use(row) with those columns for each run, in order.
  template <class Use>
  void each(const RunFilter& filter, ListingColumns& columns, std::string_view selected,
            const Use& use);

  Database& database_;
  bool knows_archive_;  // false in a store of an older rtrain
};

}  // namespace rtrain::store
