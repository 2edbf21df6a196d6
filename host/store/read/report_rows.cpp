#include "host/store/read/report_rows.h"

#include <utility>

#include "host/base/text/text.h"
#include "host/store/db/row_values.h"
#include "host/store/db/stored_metrics.h"

namespace rtrain::store {

void each_report(Database& database, const std::string& run_id,
                 const std::function<void(const RankReport&)>& see) {
  Statement query = database.prepare(
      "SELECT idx, attempt, time, metrics, nonfinite FROM reports WHERE run_id = ? AND rank = 0 "
      "AND superseded = 0 ORDER BY idx");
  query.add(run_id);
  while (query.next()) {
    see({.index = query.integer(0),
         .attempt = query.integer(1),
         .time_ms = query.integer(2),
         .metrics = load_metrics(query.text_view(3), query.text_view(4))});
  }
}

ReportRange report_range(Database& database, const std::string& run_id) {
  Statement query = database.prepare(
      "SELECT (SELECT min(idx) FROM reports WHERE run_id = ?1), "
      "(SELECT max(idx) FROM reports WHERE run_id = ?1)");
  query.add(run_id).next();
  if (query.is_null(0)) return {};
  return {.first = query.integer(0), .last = query.integer(1)};
}

void each_stored_metrics(Database& database, const std::string& run_id, ReportRange range,
                         const std::function<void(std::string_view, std::string_view)>& see) {
  Statement query = database.prepare(
      "SELECT metrics, nonfinite FROM reports WHERE run_id = ? AND idx BETWEEN ? AND ? AND rank "
      "= 0 AND superseded = 0 ORDER BY idx");
  query.add(run_id).add(range.first).add(range.last);
  while (query.next()) see(query.text_view(0), query.text_view(1));
}

int64_t count_report_rows(Database& database, const std::string& run_id, bool all) {
  Statement query = database.prepare(
      "SELECT count(*) FROM (SELECT DISTINCT idx, attempt FROM reports WHERE run_id = ? AND "
      "(superseded = 0 OR ?))");
  query.add(run_id).add(int64_t{all}).next();
  return query.integer(0);
}

List report_rows(Database& database, const std::string& run_id, const ReportRowQuery& asked) {
  const char* shown = "run_id = ? AND (superseded = 0 OR ?)";
  const std::string within =
      asked.page.limit < 0
          ? ""
          : cat(" AND (idx, attempt) IN (SELECT DISTINCT idx, attempt FROM reports "
                "WHERE ",
                shown, " ORDER BY idx, attempt LIMIT ? OFFSET ?)");
  Statement query = database.prepare(
      cat("SELECT idx, attempt, rank, time, metrics, nonfinite, superseded FROM reports WHERE ",
          shown, " AND (rank = 0 OR ?)", within, " ORDER BY idx, attempt, rank"));
  query.add(run_id).add(int64_t{asked.all}).add(int64_t{asked.ranks});
  if (asked.page.limit >= 0) {
    query.add(run_id).add(int64_t{asked.all}).add(asked.page.limit).add(asked.page.offset);
  }
  List out;
  std::pair<int64_t, int64_t> open{-1, -1};  // of the row being filled
  while (query.next()) {
    Value values = load_metrics(query.text(4), query.text(5));
    const std::pair key(query.integer(0), query.integer(1));
    if (key != open) {
      open = key;
      Map row{{"index", key.first},
              {"attempt", key.second},
              {"time", time_value(query.integer(3))},
              {"metrics", query.integer(2) == 0 ? values : Value()}};
      if (asked.ranks) row.set("ranks", List{});
      if (asked.all) row.set("superseded", query.integer(6) != 0);
      out.push_back(std::move(row));
    }
    if (!asked.ranks) continue;
    List by_rank = out.back()["ranks"].as_list();
    by_rank.resize(static_cast<size_t>(query.integer(2)));
    by_rank.push_back(std::move(values));
    out.back().as_map().set("ranks", std::move(by_rank));
  }
  return out;
}

}  // namespace rtrain::store
