#include "host/store/series/series_store.h"

#include <utility>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/store/claim/fenced_write.h"
#include "host/store/series/series_chunk.h"
#include "host/store/series/series_parts.h"

namespace rtrain::store {
namespace {

constexpr size_t kMaxKeyBytes = 256;

int64_t series_id(FencedWrite& write, const std::string& run_id, const SeriesChunk& chunk) {
  write.run("INSERT OR IGNORE INTO series(run_id, key, rank, attempt) VALUES(?, ?, ?, ?)", run_id,
            chunk.key, chunk.rank, chunk.attempt);
  Statement query = write.prepare(
      "SELECT series_id FROM series WHERE run_id = ? AND key = ? AND rank = ? AND attempt = ?");
  query.add(run_id).add(chunk.key).add(chunk.rank).add(chunk.attempt).next();
  return query.integer(0);
}

// Calls see(point, is_valid) for each point of the key: see each_valid_point.
template <class See>
void each_point(Database& database, const std::string& run_id, const std::string& key,
                std::optional<int64_t> rank, const See& see) {
  Statement chunks =
      database.prepare("SELECT data FROM series_chunks WHERE series_id = ? ORDER BY number");
  for (const SeriesPart& part : series_parts(database, run_id, key, rank)) {
    chunks.add(part.series_id);
    while (chunks.next()) {
      for (const SeriesPoint& point : decode_series(chunks.blob(0))) {
        see(LoggedPoint{.rank = part.rank, .attempt = part.attempt, .point = point},
            point.step < part.end);
      }
    }
    chunks.reset();
  }
}

}  // namespace

void check_key(const message::Series& series) {
  if (series.key.size() <= kMaxKeyBytes) return;
  throw Error(Code::kArgument, "a series' key is too long");
}

message::Series chunk_of(const std::string& key, int64_t number,
                         std::span<const SeriesPoint> points) {
  message::Series chunk;
  chunk.key = key;
  chunk.number = number;
  chunk.count = static_cast<int64_t>(points.size());
  chunk.first_step = points.front().step;
  chunk.last_step = points.back().step;
  chunk.first_time_ms = points.front().time_ms;
  chunk.last_time_ms = points.back().time_ms;
  chunk.data = encode_series(points);
  chunk.summaries = encode_summaries(summarize(points));
  return chunk;
}

ChunkWriter::ChunkWriter(Database& database)
    : insert_(database.prepare(
          "INSERT OR REPLACE INTO series_chunks(series_id, number, count, first_step, last_step, "
          "first_time, last_time, data) VALUES(?, ?, ?, ?, ?, ?, ?, ?)")),
      pyramid_(database) {}

void ChunkWriter::add(int64_t series_id, const message::Series& chunk) {
  insert_.add(series_id).add(chunk.number).add(chunk.count);
  insert_.add(chunk.first_step).add(chunk.last_step);
  insert_.add(chunk.first_time_ms).add(chunk.last_time_ms).add(Blob{chunk.data}).run();
  pyramid_.add(series_id, chunk.number, chunk.summaries);
}

void add_series(RunClaim& claim, std::span<const SeriesChunk> chunks) {
  if (chunks.empty()) return;
  write_fenced(claim, Durability::kNormal, [&](FencedWrite& write) {
    ChunkWriter writer(claim.database);
    for (const SeriesChunk& chunk : chunks) {
      writer.add(series_id(write, claim.run_id, chunk), chunk);
    }
  });
}

std::vector<std::string> series_keys(Database& database, const std::string& run_id) {
  Statement query =
      database.prepare("SELECT DISTINCT key FROM series WHERE run_id = ? ORDER BY key");
  query.add(run_id);
  std::vector<std::string> keys;
  while (query.next()) keys.push_back(query.text(0));
  return keys;
}

std::map<std::pair<int64_t, int64_t>, Map> last_series_values(Database& database,
                                                              const std::string& run_id,
                                                              const std::string& prefix) {
  Statement query = database.prepare(
      "SELECT attempt, rank, key, data FROM series JOIN series_chunks AS c USING(series_id) "
      "WHERE run_id = ? AND substr(key, 1, ?) = ? AND number = (SELECT max(number) FROM "
      "series_chunks WHERE series_id = c.series_id) ORDER BY attempt, rank, key");
  query.add(run_id).add(static_cast<int64_t>(prefix.size())).add(prefix);
  std::map<std::pair<int64_t, int64_t>, Map> out;
  while (query.next()) {
    const std::vector<SeriesPoint> points = decode_series(query.blob(3));
    if (points.empty()) continue;
    out[{query.integer(0), query.integer(1)}].set(query.text(2).substr(prefix.size()),
                                                  points.back().value);
  }
  return out;
}

void each_valid_point(Database& database, const std::string& run_id, const std::string& key,
                      std::optional<int64_t> rank,
                      const std::function<void(const LoggedPoint&)>& see) {
  each_point(database, run_id, key, rank, [&](const LoggedPoint& logged, bool is_valid) {
    if (is_valid) see(logged);
  });
}

std::vector<SeriesPoint> series_points(Database& database, const std::string& run_id,
                                       const std::string& key, int64_t rank) {
  std::vector<SeriesPoint> out;
  each_valid_point(database, run_id, key, rank,
                   [&](const LoggedPoint& logged) { out.push_back(logged.point); });
  return out;
}

List read_series(Database& database, const std::string& run_id, const std::string& key, bool all) {
  List out;
  const auto add = [&](const LoggedPoint& logged, bool is_valid) {
    if (!is_valid && !all) return;
    Map row{{"step", logged.point.step},
            {"time", time_text(logged.point.time_ms)},
            {"rank", logged.rank},
            {"value", logged.point.value}};
    if (all) {
      row.set("attempt", logged.attempt);
      row.set("superseded", !is_valid);
    }
    out.push_back(std::move(row));
  };
  each_point(database, run_id, key, std::nullopt, add);
  return out;
}

}  // namespace rtrain::store
