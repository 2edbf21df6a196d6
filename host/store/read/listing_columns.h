// host/store/read/listing_columns.h: the names that an expression over runs may use, as SQL
// columns.
//
// These are a run's columns, its last metrics by name or path (host/base/codec/metric_path.h),
// `config.KEY` (`config.opt.lr` for nested ones) and `tag`. Without quotes and spaces `val/loss` is
// a metric if there is one, else a division. Outside of expressions, min(METRIC), max(METRIC) and
// last(METRIC) of host/store/read/metric_extremes.h are columns too. SQLite would treat loss and
// Loss as one column and allows at most 2,000 columns, so only names in the expression become
// columns; other metrics are not searched for.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/store/db/database.h"
#include "host/store/read/sql_names.h"

namespace rtrain::store {

// SQL for the last metrics of a row of `runs`. `column`: metrics or nonfinite.
std::string last_metrics_sql(std::string_view column);

// Quotes the text: as an SQL string, or with `"` as a name.
std::string in_quotes(std::string_view text, char quote);

class ListingColumns {
 public:
  // The database must outlive this object.
  explicit ListingColumns(Database& database) : database_(database) {}

  // The SQL column for the name: an exact match first, else the match that differs only in case.
  // nullopt if there is none; Error(kUsage) if there are two.
  std::optional<std::string> find(const std::string& name);

  // Replaces names in the expression by columns. Unknown names stay, and SQLite reports them.
  std::string with_columns(const std::string& expression);

  // ", json_extract(…) AS "metric 1"" for all columns found so far.
  const std::string& definitions() const { return definitions_; }
  // Whether an expression used `tag`, which stands for each tag of a run.
  bool names_tag() const { return names_tag_; }

  // Names of columns and metrics, and `config.` names. Reads all runs.
  std::vector<std::string> all_names();
  // Only the names of metrics, sorted.
  std::vector<std::string> metric_names();
  // Only the `config.` names, of the newest runs if their number is given.
  std::vector<std::string> config_names(std::optional<int64_t> newest = {});
  // The names that every store has.
  static std::vector<std::string> own_names();

 private:
  std::optional<std::string> metric_of_any(const std::string& path);
  std::optional<std::string> find_metric_at(const std::string& path);
  // The path of the metric that begins at names[first]; sets `first` to its last name. Empty if no
  // metric begins there.
  std::string metric_path(const std::string& expression, const std::vector<SqlName>& names,
                          size_t& first);
  // min(METRIC), max(METRIC) and last(METRIC), of a metric that was reported or logged.
  std::optional<std::string> find_extreme(const std::string& name);
  std::optional<std::string> find_config(const std::vector<std::string>& path);
  std::string define(const std::string& key, std::string_view value);
  bool is_name(const std::string& name, bool quoted);

  Database& database_;
  std::map<std::string, std::string> columns_;
  std::string definitions_;
  bool names_tag_ = false;
};

}  // namespace rtrain::store
