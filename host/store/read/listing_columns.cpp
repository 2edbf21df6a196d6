#include "host/store/read/listing_columns.h"

#include <sqlite3.h>

#include <algorithm>
#include <set>
#include <span>

#include "host/base/codec/json.h"
#include "host/base/codec/metric_path.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::store {
namespace {

constexpr std::string_view kConfig = "config";

const std::vector<std::string>& run_columns() {
  static const std::vector<std::string> columns = {
      "name",     "run_id",     "status",    "num_workers", "started_at",
      "ended_at", "duration_s", "waiting_s", "running_s",   "script",
      "note",     "tags",       "metrics",   "hostname",    "git_commit"};
  return columns;
}

bool has_name(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// '$."opt"."lr"' as an SQL string; nullopt if a key cannot be written in a JSON path.
std::optional<std::string> json_path(std::span<const std::string> keys) {
  std::string path = "$";
  for (const std::string& key : keys) {
    if (key.find('"') != std::string::npos) return std::nullopt;
    path += cat(".\"", key, "\"");
  }
  return in_quotes(path, '\'');
}

bool has_rows(Database& database, const std::string& sql) { return database.prepare(sql).next(); }

// Whether exactly the character `c` separates the name from the next one.
bool goes_on(const std::string& expression, const std::vector<SqlName>& names, size_t at, char c) {
  return at + 1 < names.size() && expression[names[at].end] == c &&
         names[at + 1].begin == names[at].end + 1;
}

// The keys of `config.opt.lr` in an expression. `first` is the index of its first name, and of its
// last one afterwards. Empty for any other name.
std::vector<std::string> config_path(const std::string& expression,
                                     const std::vector<SqlName>& names, size_t& first) {
  std::vector<std::string> keys;
  if (names[first].quoted || names[first].name != kConfig) return keys;
  while (goes_on(expression, names, first, '.')) keys.push_back(names[++first].name);
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

// The metric's JSON text from the first run that has it; null for NaN.
std::optional<std::string> ListingColumns::metric_of_any(const std::string& path) {
  Statement query = database_.prepare(cat("SELECT ", last_metrics_sql("metrics"), " FROM runs"));
  while (query.next()) {
    if (const auto found = find_metric_text(query.text_view(0), path)) return std::string(*found);
  }
  return std::nullopt;
}

std::optional<std::string> ListingColumns::find_metric_at(const std::string& path) {
  if (!metric_of_any(path)) return std::nullopt;
  return define(path, cat("metric_value(metrics, ", in_quotes(path, '\''), ")"));
}

std::string ListingColumns::metric_path(const std::string& expression,
                                        const std::vector<SqlName>& names, size_t& first) {
  std::string path = names[first].name;
  std::vector<std::string> paths;  // the shortest first
  for (size_t at = first; goes_on(expression, names, at, '/'); ++at) {
    paths.push_back(path = cat(path, "/", names[at + 1].name));
  }
  for (; !paths.empty(); paths.pop_back()) {
    if (!metric_of_any(paths.back())) continue;
    first += paths.size();
    return paths.back();
  }
  if (path == names[first].name ||
      !metric_of_any(names[first].name).value_or("").starts_with('{')) {
    return "";
  }
  throw Error(Code::kUsage, cat("no metric '", path, "'", suggestion(path, metric_names())));
}

std::optional<std::string> ListingColumns::find(const std::string& name) {
  if (has_name(run_columns(), name)) return in_quotes(name, '"');
  if (name.starts_with("config.")) {
    const std::vector<std::string> keys = split(name, '.');
    return find_config({keys.begin() + 1, keys.end()});
  }
  if (const auto column = find_metric_at(name)) return column;
  if (const auto column = find_extreme(name)) return column;
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

std::optional<std::string> ListingColumns::find_extreme(const std::string& name) {
  const size_t open = name.find('(');
  if (open == std::string::npos || name.back() != ')') return std::nullopt;
  const std::string which = name.substr(0, open);
  const std::string metric = name.substr(open + 1, name.size() - open - 2);
  if (which != "min" && which != "max" && which != "last") return std::nullopt;
  const bool is_logged = has_rows(
      database_, cat("SELECT 1 FROM series WHERE key = ", in_quotes(metric, '\''), " LIMIT 1"));
  if (!is_logged && !metric_of_any(metric)) return std::nullopt;
  return define(name, cat("metric_extreme(run_id, updated_at, ", in_quotes(metric, '\''), ", '",
                          which, "')"));
}

std::optional<std::string> ListingColumns::find_config(const std::vector<std::string>& path) {
  if (path.empty()) return std::nullopt;
  std::string keys;
  for (const std::string& key : path) keys += cat(", ", in_quotes(key, '\''));
  // Tests the type, because a key whose value is null exists too. Stops at the first run.
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

// Whether SQLite accepts the name for a column, even if it is a keyword elsewhere.
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
    const std::vector<std::string> keys = config_path(expression, names, i);
    const std::string metric = keys.empty() ? metric_path(expression, names, i) : "";
    const SqlName& name = names[i];
    const bool is_plain = keys.empty() && metric.empty();
    if (is_plain && !is_name(name.name, name.quoted)) continue;
    const auto column = is_plain       ? find(name.name)
                        : keys.empty() ? find_metric_at(metric)
                                       : find_config(keys);
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
  Statement query =
      database_.prepare(cat("SELECT DISTINCT ", last_metrics_sql("metrics"), " FROM runs"));
  std::set<std::string, std::less<>> quoted;
  while (query.next()) {
    each_metric_text(query.text_view(0), [&](std::string_view path, std::string_view) {
      if (!quoted.contains(path)) quoted.emplace(path);
    });
  }
  std::vector<std::string> names;
  for (const std::string& path : quoted) {
    std::string name = from_json(path).as_string();
    if (!has_name(run_columns(), name)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> ListingColumns::all_names() {
  std::vector<std::string> names = run_columns();
  for (std::string& metric : metric_names()) names.push_back(std::move(metric));
  for (std::string& name : config_names()) names.push_back(std::move(name));
  return names;
}

std::vector<std::string> ListingColumns::config_names(std::optional<int64_t> newest) {
  Statement query = database_.prepare(
      cat("SELECT DISTINCT substr(replace(fullkey, '\"', ''), 3) FROM "
          "(SELECT config FROM runs ORDER BY started_at DESC LIMIT ",
          newest.value_or(-1),
          "), json_tree(config) WHERE type NOT IN ('object', 'array') AND fullkey NOT LIKE '%[%' "
          "ORDER BY 1"));
  std::vector<std::string> names;
  while (query.next()) names.push_back(cat(kConfig, ".", query.text(0)));
  return names;
}

std::vector<std::string> ListingColumns::own_names() { return run_columns(); }

}  // namespace rtrain::store
