// host/store/read/listing_columns.h: the names that an expression over runs may use, as columns in
// SQL.
//
// A run's columns, its last metrics by their very names or paths (host/base/codec/metric_path.h),
// `config.KEY` (`config.opt.lr` for nested ones) and `tag`. Without quotes and spaces `val/loss` is
// a metric where there is one, else a division. SQLite would take loss and Loss for one column, and
// has room for 2,000: so only what an expression names becomes a column. Metrics that no expression
// names are not looked for.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/store/db/database.h"
#include "host/store/read/sql_names.h"

namespace rtrain {

// SQL for the last metrics of the row of `runs`; `column` is metrics or nonfinite.
std::string last_metrics_sql(std::string_view column);

// The text as an SQL string, or with `"` as a name.
std::string in_quotes(std::string_view text, char quote);

class ListingColumns {
 public:
  // The database outlives this.
  explicit ListingColumns(Database& database) : database_(database) {}

  // The column of that name, as SQL writes it: the very name first, else the one that differs in
  // case only. Nothing when there is none; Error(kUsage) when it could be two.
  std::optional<std::string> find(const std::string& name);

  // The expression with the columns in the names' places. Names that are none stay: SQLite says so.
  std::string with_columns(const std::string& expression);

  // ", json_extract(…) AS "metric 1"", of those that were found.
  const std::string& definitions() const { return definitions_; }
  // Whether an expression named `tag`, which stands for each of a run's tags.
  bool names_tag() const { return names_tag_; }

  // Of columns and metrics, and with `config.` of configs. Reads all runs.
  std::vector<std::string> all_names();
  // The same of metrics alone, sorted.
  std::vector<std::string> metric_names();

 private:
  std::optional<std::string> metric_of_any(const std::string& path);
  std::optional<std::string> find_metric_at(const std::string& path);
  // The metric's path that begins at names[first], which then is the last of its names; empty where
  // none does.
  std::string metric_path(const std::string& expression, const std::vector<SqlName>& names,
                          size_t& first);
  std::optional<std::string> find_config(const std::vector<std::string>& path);
  std::string define(const std::string& key, std::string_view value);
  bool is_name(const std::string& name, bool quoted);

  Database& database_;
  std::map<std::string, std::string> columns_;
  std::string definitions_;
  bool names_tag_ = false;
};

}  // namespace rtrain
