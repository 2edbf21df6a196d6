#include "host/store/runs/source_store.h"

namespace rtrain::store {

void set_sources(Database& database, const std::string& run_id, const List& sources) {
  database.run("DELETE FROM sources WHERE run_id = ?", run_id);
  for (const Value& source : sources) {
    database.run("INSERT INTO sources(run_id, kind, path, text) VALUES(?, ?, ?, ?)", run_id,
                 source["kind"].as_string(), source["path"].as_string(),
                 source["text"].as_string());
  }
}

List read_sources(Database& database, const std::string& run_id) {
  List out;
  if (!database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'sources'").next()) return out;
  Statement query = database.prepare(
      "SELECT kind, path, text FROM sources WHERE run_id = ? ORDER BY kind = 'diff', kind = "
      "'module', path");
  query.add(run_id);
  while (query.next()) {
    out.push_back(Map{{"kind", query.text(0)}, {"path", query.text(1)}, {"text", query.text(2)}});
  }
  return out;
}

}  // namespace rtrain::store
