#include "host/store/read/curves/report_charts.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "host/base/clock.h"
#include "host/base/codec/flat_json.h"
#include "host/base/codec/json.h"
#include "host/base/codec/metric_path.h"
#include "host/base/error.h"

namespace rtrain::store {
namespace {

// Reads a number as host/store/db/stored_metrics.h writes it; nullopt if it is not a number.
std::optional<double> number_of(std::string_view text) {
  double out = 0;
  const auto [end, status] = std::from_chars(text.begin(), text.end(), out);
  if (end != text.end()) return std::nullopt;
  if (status == std::errc()) return out;
  if (status != std::errc::result_out_of_range) return std::nullopt;
  return text.starts_with('-') ? -HUGE_VAL : HUGE_VAL;
}

// The number at the path in a report.
std::optional<double> reported_number(std::string_view metrics, std::string_view nonfinite,
                                      const std::string& path) {
  const auto value = find_metric_text(metrics, path);
  if (!value || *value != "null") return value ? number_of(*value) : std::nullopt;
  if (find_metric_text(nonfinite, path) != R"("NaN")") return std::nullopt;
  return std::nan("");
}

// Calls see(path with quotes, number) for each number of a report.
template <class See>
void each_number(std::string_view metrics, std::string_view nonfinite, const See& see) {
  each_metric_text(metrics, [&](std::string_view name, std::string_view value) {
    if (const auto number = number_of(value)) return see(name, *number);
    if (value != "null" || nonfinite.empty()) return;
    each_metric_text(nonfinite, [&](std::string_view other, std::string_view what) {
      if (other == name && what == R"("NaN")") see(name, std::nan(""));
    });
  });
}

// Adds reports to the summaries of their numbers.
class Summaries {
 public:
  using ByName = std::map<std::string, std::vector<SeriesSummary>, std::less<>>;

  explicit Summaries(ByName& by_name) : by_name_(by_name) {}

  void add(int64_t index, int64_t time_ms, std::string_view metrics, std::string_view nonfinite) {
    if (nonfinite.empty() && flat_.read(metrics)) {
      find_names();
      for (size_t i = 0; i < flat_.size(); ++i) {
        add(*found_[i], {index, time_ms, flat_.number(i)});
      }
      return;
    }
    each_number(metrics, nonfinite, [&](std::string_view name, double value) {
      add(of(name), {index, time_ms, value});
    });
  }

  size_t added_bytes() const { return added_bytes_; }

 private:
  std::vector<SeriesSummary>& of(std::string_view quoted_name) {
    const auto found = by_name_.find(quoted_name);
    return found != by_name_.end() ? found->second : by_name_[std::string(quoted_name)];
  }

  // Finds the summaries for flat_'s names. They stay the same while the names do.
  void find_names() {
    if (flat_.names_version() == found_version_) return;
    found_.clear();
    for (size_t i = 0; i < flat_.size(); ++i) found_.push_back(&of(flat_.quoted_name(i)));
    found_version_ = flat_.names_version();
  }

  void add(std::vector<SeriesSummary>& summaries, const SeriesPoint& point) {
    const bool is_full =
        summaries.empty() || summaries.back().count >= static_cast<int64_t>(kReportsTogether);
    if (is_full) {
      const size_t before = summaries.capacity();
      summaries.emplace_back();
      added_bytes_ += (summaries.capacity() - before) * sizeof(SeriesSummary);
    }
    summaries.back().add(point);
  }

  ByName& by_name_;
  FlatJson flat_;
  std::vector<std::vector<SeriesSummary>*> found_;
  int64_t found_version_ = -1;
  size_t added_bytes_ = 0;
};

// Divides the steps of a rank's reports within the bounds into equal columns.
class StepColumns {
 public:
  StepColumns(const std::vector<SeriesSummary>& all, const ChartQuery& query)
      : low_(std::max(all.front().min_step, query.from_step)),
        high_(std::min(all.back().max_step, query.to_step)),
        columns_(query.columns) {}

  bool has(int64_t step) const { return step >= low_ && step <= high_; }
  bool has_some(const SeriesSummary& part) const {
    return part.max_step >= low_ && part.min_step <= high_;
  }
  // Whether the part is within the bounds and no longer than a column.
  bool is_whole(const SeriesSummary& part) const {
    return has(part.min_step) && has(part.max_step) &&
           static_cast<double>(part.max_step - part.min_step) <= width();
  }
  void add(const SeriesSummary& part) { columns_[column(part.first.step)].add(part); }
  void add(const SeriesPoint& point) {
    if (has(point.step)) columns_[column(point.step)].add(point);
  }
  std::vector<SeriesSummary> filled() && {
    std::erase_if(columns_, [](const SeriesSummary& column) { return column.count == 0; });
    return std::move(columns_);
  }

 private:
  double width() const {
    return static_cast<double>(high_ - low_) / static_cast<double>(columns_.size());
  }
  size_t column(int64_t step) const {
    if (!(width() > 0)) return 0;
    const double column = static_cast<double>(step - low_) / width();
    return static_cast<size_t>(std::clamp(column, 0.0, static_cast<double>(columns_.size()) - 1));
  }

  int64_t low_;
  int64_t high_;
  std::vector<SeriesSummary> columns_;
};

// An index below which all ranks have reported, unless one is far behind.
int64_t first_new_index(Database& database, const std::string& run_id) {
  constexpr int64_t kFarthestAhead = 256;
  Statement query = database.prepare("SELECT max(idx) FROM reports WHERE run_id = ?");
  query.add(run_id).next();
  return std::max<int64_t>(0, query.integer(0) - kFarthestAhead);
}

std::string json_name(const std::string& name) { return to_json(Value(name)); }

}  // namespace

std::vector<SeriesPoint> reported_points(Database& database, const std::string& run_id,
                                         const std::string& metric, int64_t rank, int64_t from,
                                         int64_t to) {
  std::vector<SeriesPoint> out;
  Statement query = database.prepare(
      "SELECT idx, time, metrics, nonfinite FROM reports WHERE run_id = ? AND rank = ? AND "
      "superseded = 0 AND idx BETWEEN ? AND ? ORDER BY idx");
  query.add(run_id).add(rank).add(from).add(to);
  while (query.next()) {
    const auto number = reported_number(query.text_view(2), query.text_view(3), metric);
    if (number) out.push_back({query.integer(0), query.integer(1), *number});
  }
  return out;
}

std::vector<int64_t> reporting_ranks(Database& database, const std::string& run_id,
                                     const std::string& metric) {
  Statement query = database.prepare(
      "SELECT rank, metrics, nonfinite FROM reports WHERE run_id = ? AND superseded = 0");
  query.add(run_id);
  std::set<int64_t> ranks;
  while (query.next()) {
    if (reported_number(query.text_view(1), query.text_view(2), metric)) {
      ranks.insert(query.integer(0));
    }
  }
  return {ranks.begin(), ranks.end()};
}

std::shared_ptr<ReportCharts::Run> ReportCharts::run_of(const std::string& run_id) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::find_if(runs_.begin(), runs_.end(),
                                  [&](const auto& entry) { return entry.first == run_id; });
  if (found == runs_.end()) {
    runs_.emplace_back(run_id, std::make_shared<Run>());
  } else {
    std::rotate(found, found + 1, runs_.end());
  }
  return runs_.back().second;
}

void ReportCharts::drop_unused() {
  const std::scoped_lock lock(mutex_);
  size_t bytes = 0;
  for (const auto& [id, run] : runs_) bytes += run->bytes;
  while (bytes > max_bytes_ && runs_.size() > 1) {
    bytes -= runs_.front().second->bytes;
    runs_.erase(runs_.begin());
  }
}

// Clears everything when a new attempt has superseded reports.
void ReportCharts::forget_superseded(Database& database, const std::string& run_id, Run& run) {
  Statement query = database.prepare("SELECT count(*) FROM attempts WHERE run_id = ?");
  query.add(run_id).next();
  if (std::exchange(run.attempts, query.integer(0)) == query.integer(0)) return;
  run.ranks.clear();
  run.other_names.clear();
  run.next_other_index = 0;
  run.bytes = 0;
}

// Checks from time to time whether late reports (which a node had kept) have arrived below the
// index read so far.
void ReportCharts::forget_late(Database& database, const std::string& run_id, Run& run,
                               int64_t number) {
  constexpr double kBetweenChecksS = 5;
  Rank& rank = run.ranks[number];
  const double now_s = monotonic_s();
  if (now_s - rank.checked_at_s < kBetweenChecksS) return;
  const auto count_below = [&](int64_t index) {
    Statement query =
        database.prepare("SELECT count(*) FROM reports WHERE run_id = ? AND rank = ? AND idx < ?");
    query.add(run_id).add(number).add(index).next();
    return query.integer(0);
  };
  if (count_below(rank.checked_index) != rank.checked_reports) rank = Rank();
  rank.checked_at_s = now_s;
  rank.checked_index = rank.next_index;
  rank.checked_reports = count_below(rank.next_index);
}

ReportCharts::Rank& ReportCharts::read_rank(Database& database, const std::string& run_id, Run& run,
                                            int64_t number) {
  forget_superseded(database, run_id, run);
  forget_late(database, run_id, run, number);
  Rank& rank = run.ranks[number];
  Statement query = database.prepare(
      "SELECT idx, time, metrics, nonfinite FROM reports WHERE run_id = ? AND rank = ? AND "
      "superseded = 0 AND idx >= ? ORDER BY idx");
  query.add(run_id).add(number).add(rank.next_index);
  Summaries summaries(rank.summaries);
  while (query.next()) {
    const int64_t index = query.integer(0);
    summaries.add(index, query.integer(1), query.text_view(2), query.text_view(3));
    rank.next_index = index + 1;
  }
  run.bytes += summaries.added_bytes();
  // If the rank reports nothing, skips the other ranks' reports, so that the next call does not
  // scan them again.
  if (rank.summaries.empty()) {
    rank.next_index = std::max(rank.next_index, first_new_index(database, run_id));
  }
  return rank;
}

void ReportCharts::read_other_names(Database& database, const std::string& run_id, Run& run) {
  Statement query = database.prepare(
      "SELECT idx, metrics, nonfinite FROM reports WHERE run_id = ? AND rank > 0 AND idx >= ? "
      "ORDER BY idx");
  query.add(run_id).add(run.next_other_index);
  while (query.next()) {
    each_number(query.text(1), query.text(2), [&](std::string_view name, double) {
      if (!run.other_names.contains(name)) run.other_names.emplace(name);
    });
  }
  run.next_other_index = first_new_index(database, run_id);
}

std::optional<std::vector<SeriesSummary>> ReportCharts::columns(Database& database,
                                                                const std::string& run_id,
                                                                const std::string& metric,
                                                                int64_t rank,
                                                                const ChartQuery& query) {
  RT_CHECK(query.columns > 0);
  const std::shared_ptr<Run> run = run_of(run_id);
  std::optional<std::vector<SeriesSummary>> out;
  {
    const std::scoped_lock lock(run->mutex);
    const ByName& summaries = read_rank(database, run_id, *run, rank).summaries;
    const auto found = summaries.find(json_name(metric));
    if (found == summaries.end()) return std::nullopt;
    const std::vector<SeriesSummary>& parts = found->second;
    StepColumns columns(parts, query);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!columns.has_some(parts[i])) continue;
      if (columns.is_whole(parts[i])) {
        columns.add(parts[i]);
        continue;
      }
      size_t last = i;
      const auto is_cut = [&](const SeriesSummary& part) {
        return columns.has_some(part) && !columns.is_whole(part);
      };
      while (last + 1 < parts.size() && is_cut(parts[last + 1])) ++last;
      const int64_t from = std::max(parts[i].min_step, query.from_step);
      const int64_t to = std::min(parts[last].max_step, query.to_step);
      for (const SeriesPoint& point : reported_points(database, run_id, metric, rank, from, to)) {
        columns.add(point);
      }
      i = last;
    }
    out = std::move(columns).filled();
  }
  drop_unused();
  return out;
}

std::vector<std::string> ReportCharts::names(Database& database, const std::string& run_id) {
  const std::shared_ptr<Run> run = run_of(run_id);
  std::set<std::string> names;
  {
    const std::scoped_lock lock(run->mutex);
    const auto add = [&](std::string_view quoted) { names.insert(from_json(quoted).as_string()); };
    for (const auto& [name, parts] : read_rank(database, run_id, *run, 0).summaries) add(name);
    read_other_names(database, run_id, *run);
    for (const std::string& name : run->other_names) add(name);
  }
  drop_unused();
  return {names.begin(), names.end()};
}

}  // namespace rtrain::store
