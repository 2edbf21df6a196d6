// A series of many points, and charts of random parts of it: with host/store/series/series_chart.h,
// and by a scan of all points.
//
//   chart_bench make FOLDER POINTS      a store with the loss of one run
//   chart_bench chart FOLDER QUERIES    name<TAB>milliseconds: p50, p99 and the longest
//   chart_bench points FOLDER QUERIES   the same for a scan of all points in the range
//   chart_bench compare FOLDER QUERIES  fails if the two differ in a column
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iostream>
#include <random>

#include "host/base/text/text.h"
#include "host/store/runs/run_store.h"
#include "host/store/series/series_chart.h"
#include "host/store/series/series_store.h"

namespace {

using namespace rtrain;

constexpr size_t kColumns = 1000;
constexpr const char* kKey = "loss";

std::string store_of(const std::string& folder) { return folder + "/rtrain.db"; }

void make(const std::string& folder, size_t points) {
  store::NewRun run;
  run.name = "run";
  run.storage_path = folder;
  run.num_workers = 1;
  auto store = store::RunStore::open(run);
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise;
  store::SeriesPoint point{0, 1763769600000, 0};
  for (int64_t number = 0; points > 0; ++number) {
    std::vector<store::SeriesPoint> chunk;
    for (; chunk.size() < store::kMaxChunkPoints && points > 0; --points) {
      const auto step = static_cast<double>(++point.step);
      point.time_ms += point.step % 10 == 0 ? 1 : 0;
      const double loss = (2.3 * std::exp(-1e-6 * step) + 0.1) * std::exp(0.1 * noise(random));
      point.value = static_cast<double>(static_cast<float>(loss));
      chunk.push_back(point);
    }
    store::SeriesChunk sent{store::chunk_of(kKey, number, chunk)};
    sent.attempt = 1;
    store::add_series(store->claim(), {&sent, 1});
  }
}

// Returns queries like those of a chart's viewer: the whole series, and smaller and smaller parts.
std::vector<store::ChartQuery> queries_of(store::Database& database, size_t count) {
  store::Statement query = database.prepare("SELECT max(last_step) FROM series_chunks");
  query.next();
  const auto points = static_cast<double>(query.integer(0));
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform;
  std::vector<store::ChartQuery> out{{.columns = kColumns}};
  while (out.size() < count) {
    const double width = points * std::pow(1e-4, uniform(random));
    const double from = (points - width) * uniform(random);
    out.push_back({.from_step = static_cast<int64_t>(from),
                   .to_step = static_cast<int64_t>(from + width),
                   .columns = kColumns});
  }
  return out;
}

std::vector<store::SeriesSummary> chart(store::Database& database, const store::ChartQuery& query) {
  store::Statement run = database.prepare("SELECT run_id FROM runs");
  run.next();
  return store::chart_columns(database, run.text(0), kKey, 0, query);
}

void scan(store::Database& database, const store::ChartQuery& query,
          const std::function<void(const store::SeriesPoint&)>& look) {
  store::Statement chunks = database.prepare(
      "SELECT data FROM series_chunks WHERE last_step >= ? AND first_step <= ? ORDER BY number");
  chunks.add(query.from_step).add(query.to_step);
  while (chunks.next()) {
    for (const store::SeriesPoint& point : store::decode_series(chunks.blob(0))) {
      if (point.step >= query.from_step && point.step <= query.to_step) look(point);
    }
  }
}

void print_times(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const auto at = [&](double part) {
    return times[static_cast<size_t>(part * static_cast<double>(times.size() - 1))];
  };
  std::cout << "p50\t" << at(0.5) << "\np99\t" << at(0.99) << "\nlongest\t" << at(1) << "\n";
}

void time(const std::string& folder, size_t count, bool by_points) {
  auto database = store::Database::open_read_only(store_of(folder));
  std::vector<double> times;
  for (const store::ChartQuery& query : queries_of(*database, count)) {
    const auto begin = std::chrono::steady_clock::now();
    if (by_points) {
      store::SeriesSummary all;
      scan(*database, query, [&](const store::SeriesPoint& point) { all.add(point); });
    } else {
      chart(*database, query);
    }
    const std::chrono::duration<double, std::milli> taken =
        std::chrono::steady_clock::now() - begin;
    times.push_back(taken.count());
  }
  print_times(std::move(times));
}

bool is_same(const store::SeriesSummary& a, const store::SeriesSummary& b) {
  return a.count == b.count && a.first == b.first && a.last == b.last && a.least == b.least &&
         a.most == b.most && std::abs(a.sum - b.sum) <= 1e-9 * std::abs(b.sum);
}

void compare(const std::string& folder, size_t count) {
  auto database = store::Database::open_read_only(store_of(folder));
  for (const store::ChartQuery& query : queries_of(*database, count)) {
    const std::vector<store::SeriesSummary> columns = chart(*database, query);
    size_t place = 0;
    store::SeriesSummary here;
    const auto check = [&] {
      if (place >= columns.size() || !is_same(columns[place++], here)) {
        throw Error(Code::kInternal, cat("column ", place, " of ", columns.size(), " is wrong"));
      }
      here = {};
    };
    scan(*database, query, [&](const store::SeriesPoint& point) {
      here.add(point);
      if (place < columns.size() && here.count == columns[place].count) check();
    });
    if (here.count > 0 || place != columns.size()) check();
  }
  std::cout << "columns are equal in " << count << " charts\n";
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> words(argv, argv + argc);
    if (words.size() != 4) throw Error(Code::kUsage, "see the head of chart.cpp");
    const size_t count = std::stoul(words[3]);
    if (words[1] == "make") make(words[2], count);
    if (words[1] == "chart") time(words[2], count, false);
    if (words[1] == "points") time(words[2], count, true);
    if (words[1] == "compare") compare(words[2], count);
    return 0;
  } catch (const Error& error) {
    std::cerr << error.message() << "\n";
    return 1;
  }
}
