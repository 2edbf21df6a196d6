#include "host/store/runs/annotation_store.h"

#include "host/base/clock.h"
#include "host/store/claim/fenced_write.h"

namespace rtrain::store {

void add_annotations(RunClaim& claim, std::span<const AnnotationRow> rows) {
  if (rows.empty()) return;
  write_fenced(claim, Durability::kNormal, [&](FencedWrite& write) {
    Statement insert = write.prepare(
        "INSERT INTO annotations(run_id, attempt, rank, time, severity, text) "
        "VALUES(?, ?, ?, ?, ?, ?)");
    for (const AnnotationRow& row : rows) {
      insert.add(claim.run_id).add(row.attempt).add(row.rank).add(row.time_ms);
      insert.add(row.severity).add(row.text).run();
    }
  });
}

List read_annotations(Database& database, const std::string& run_id) {
  Statement query = database.prepare(
      "SELECT time, attempt, rank, severity, text FROM annotations WHERE run_id = ? "
      "ORDER BY annotation_id");
  query.add(run_id);
  List out;
  while (query.next()) {
    out.push_back(Map{{"time", time_text(query.integer(0))},
                      {"attempt", query.integer(1)},
                      {"rank", query.integer(2)},
                      {"severity", query.text(3)},
                      {"text", query.text(4)}});
  }
  return out;
}

}  // namespace rtrain::store
