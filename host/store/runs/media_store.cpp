#include "host/store/runs/media_store.h"

#include "host/base/clock.h"
#include "host/base/codec/hash.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/store/claim/fenced_write.h"

namespace rtrain::store {

void add_media(RunClaim& claim, std::span<const MediaRow> rows) {
  if (rows.empty()) return;
  write_fenced(claim, Durability::kNormal, [&](FencedWrite& write) {
    Statement content =
        write.prepare("INSERT OR IGNORE INTO media_contents(run_id, hash, data) VALUES(?, ?, ?)");
    Statement insert = write.prepare(
        "INSERT INTO media(run_id, attempt, rank, kind, name, step, time, hash) "
        "VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
    for (const MediaRow& row : rows) {
      const std::string hash = hash_text(hash64(row.data));
      content.add(claim.run_id).add(hash).add(Blob{row.data}).run();
      insert.add(claim.run_id).add(row.attempt).add(row.rank).add(row.kind).add(row.name);
      insert.add(row.step).add(row.time_ms).add(hash).run();
    }
  });
}

Map describe_media(const MediaRow& row) {
  return Map{{"kind", row.kind},        {"name", row.name},       {"step", row.step},
             {"rank", row.rank},        {"attempt", row.attempt}, {"time", time_text(row.time_ms)},
             {"bytes", row.size_bytes}, {"hash", row.hash}};
}

std::vector<MediaRow> read_media(Database& database, const std::string& run_id) {
  std::vector<MediaRow> out;
  if (!database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'media'").next()) return out;
  Statement query = database.prepare(
      "WITH firsts AS MATERIALIZED(SELECT kind, name, rank, attempt, min(step) AS step FROM media "
      "WHERE run_id = ?1 GROUP BY kind, name, rank, attempt) "
      "SELECT attempt, rank, time, kind, name, step, hash, length(data) FROM media AS m "
      "JOIN media_contents USING(run_id, hash) WHERE run_id = ?1 AND NOT EXISTS(SELECT 1 FROM "
      "firsts "
      "AS later WHERE later.kind = m.kind AND later.name = m.name AND later.rank = m.rank AND "
      "later.attempt > m.attempt AND later.step <= m.step) "
      "ORDER BY kind, name, step, rank, media_id");
  query.add(run_id);
  while (query.next()) {
    out.push_back({.attempt = query.integer(0),
                   .rank = query.integer(1),
                   .time_ms = query.integer(2),
                   .kind = query.text(3),
                   .name = query.text(4),
                   .step = query.integer(5),
                   .data = "",
                   .hash = query.text(6),
                   .size_bytes = query.integer(7)});
  }
  return out;
}

std::string read_media_content(Database& database, const std::string& run_id,
                               const std::string& hash) {
  Statement query =
      database.prepare("SELECT data FROM media_contents WHERE run_id = ? AND hash = ?");
  query.add(run_id).add(hash);
  if (query.next()) return query.blob(0);
  throw Error(Code::kEnvironment, cat("the store has no content with the hash ", hash));
}

}  // namespace rtrain::store
