#include "host/store/listing_columns.h"

#include <sqlite3.h>

#include <algorithm>
#include <span>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/store/sql_names.h"

namespace rtrain {
namespace {

constexpr std::string_view kConfig = "config";

const std::vector<std::string>& run_columns() {
  static const std::vector<std::string> columns = {
      "name",      "run_id",    "status", "num_workers", "started_at", "ended_at", "duration_s",
      "waiting_s", "running_s", "script", "note",        "tags",       "metrics"};
  return columns;
}

bool has_name(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// '$."opt"."lr"', as an SQL string. Nothing for a key that a path cannot say.
std::optional<std::string> json_path(std::span<const std::string> keys) {
  std::string path = "$";
  for (const std::string& key : keys) {
    if (key.find('"') != std::string::npos) return std::nullopt;
    path += cat(".\"", key, "\"");
  }
  return in_quotes(path, '\'');
}

bool has_rows(Database& database, const std::string& sql) { return database.prepare(sql).next(); }

// The keys of an expression's `config.opt.lr`, whose first name is at `first`; `first` is then the
// last of them. Empty for another name.
std::vector<std::string> config_path(const std::string& expression,
                                     const std::vector<SqlName>& names, size_t& first) {
  std::vector<std::string> keys;
  if (names[first].quoted || names[first].name != kConfig) return keys;
  const auto goes_on = [&](size_t at) {
    return at + 1 < names.size() && expression[names[at].end] == '.' &&
           names[at + 1].begin == names[at].end + 1;
  };
  while (names[first].end < expression.size() && goes_on(first)) {
    keys.push_back(names[++first].name);
  }
  return keys;
}

}  // namespace

std::string last_metrics_sql(std::string_view column) {
  return cat("(SELECT r.", column,
             " FROM reports AS r WHERE r.run_id = runs.run_id AND r.rank = 0 AND r.superseded = 0 "
             "ORDER BY r.idx DESC LIMIT 1)");
}

std::string in_quotes(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    out += c;
    if (c == quote) out += c;
  }
  return out + quote;
}

bool ListingColumns::has_metric(const std::string& name) {
  const auto path = json_path({&name, 1});
  return path &&
         has_rows(database_, cat("SELECT 1 FROM runs WHERE json_type(", last_metrics_sql("metrics"),
                                 ", ", *path, ") IS NOT NULL LIMIT 1"));
}

std::optional<std::string> ListingColumns::find(const std::string& name) {
  if (has_name(run_columns(), name)) return in_quotes(name, '"');
  if (name.starts_with("config.")) {
    const std::vector<std::string> keys = split(name, '.');
    return find_config({keys.begin() + 1, keys.end()});
  }
  if (has_metric(name)) {
    return define(name, cat("json_extract(metrics, ", *json_path({&name, 1}), ")"));
  }
  std::vector<std::string> known = run_columns();
  for (std::string& metric : metric_names()) known.push_back(std::move(metric));
  std::vector<std::string> found;
  for (const std::string& each : known) {
    if (sqlite3_stricmp(each.c_str(), name.c_str()) == 0) found.push_back(each);
  }
  if (found.empty()) return std::nullopt;
  if (found.size() == 1) return find(found.front());
  throw Error(Code::kUsage,
              cat("'", name, "' may be ", join(found, " or "), ": write one of them"));
}

std::optional<std::string> ListingColumns::find_config(const std::vector<std::string>& path) {
  if (path.empty()) return std::nullopt;
  std::string keys;
  for (const std::string& key : path) keys += cat(", ", in_quotes(key, '\''));
  // A key whose value is null is one too, so the type is asked for; few runs are looked at.
  const auto json = json_path(path);
  const std::string sql =
      json ? cat("SELECT 1 FROM runs WHERE json_type(config, ", *json, ") IS NOT NULL LIMIT 1")
           : cat("SELECT 1 FROM runs WHERE config_value(config", keys, ") IS NOT NULL LIMIT 1");
  if (!has_rows(database_, sql)) return std::nullopt;
  return define(cat("config", keys), cat("config_value(config", keys, ")"));
}

std::string ListingColumns::define(const std::string& key, std::string_view value) {
  const auto [place, is_new] = columns_.try_emplace(key);
  if (is_new) {
    place->second = in_quotes(cat("metric ", columns_.size()), '"');
    definitions_ += cat(", ", value, " AS ", place->second);
  }
  return place->second;
}

// What SQLite takes for a column where there is one of that name, be it a keyword elsewhere.
bool ListingColumns::is_name(const std::string& name, bool quoted) {
  if (quoted) return true;
  if (sqlite3_keyword_check(name.c_str(), static_cast<int>(name.size())) == 0) return true;
  sqlite3_stmt* statement = nullptr;
  const std::string sql = cat("SELECT ", name, " FROM (SELECT 7 AS \"", name, "\")");
  sqlite3_prepare_v2(database_.handle(), sql.c_str(), -1, &statement, nullptr);
  const bool is_seven =
      sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int(statement, 0) == 7;
  sqlite3_finalize(statement);
  return is_seven;
}

std::string ListingColumns::with_columns(const std::string& expression) {
  std::string out;
  size_t done = 0;
  const std::vector<SqlName> names = names_in_sql(expression);
  for (size_t i = 0; i < names.size(); ++i) {
    const size_t begin = names[i].begin;
    const std::vector<std::string> path = config_path(expression, names, i);
    const SqlName& name = names[i];
    if (path.empty() && !is_name(name.name, name.quoted)) continue;
    const auto column = path.empty() ? find(name.name) : find_config(path);
    if (!column) {
      names_tag_ = names_tag_ || name.name == "tag";
      continue;
    }
    out += cat(expression.substr(done, begin - done), *column);
    done = name.end;
  }
  return out + expression.substr(done);
}

std::vector<std::string> ListingColumns::metric_names() {
  Statement query = database_.prepare(cat("SELECT DISTINCT key FROM runs, json_each(",
                                          last_metrics_sql("metrics"), ") ORDER BY key"));
  std::vector<std::string> names;
  while (query.next()) {
    std::string name = query.text(0);
    if (name.find('"') == std::string::npos && !has_name(run_columns(), name)) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

std::vector<std::string> ListingColumns::all_names() {
  std::vector<std::string> names = run_columns();
  for (std::string& metric : metric_names()) names.push_back(std::move(metric));
  Statement query = database_.prepare(
      "SELECT DISTINCT substr(replace(fullkey, '\"', ''), 3) FROM runs, json_tree(config) "
      "WHERE type NOT IN ('object', 'array') AND fullkey NOT LIKE '%[%' ORDER BY 1");
  while (query.next()) names.push_back(cat(kConfig, ".", query.text(0)));
  return names;
}

}  // namespace rtrain
