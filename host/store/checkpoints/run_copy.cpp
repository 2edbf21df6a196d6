#include "host/store/checkpoints/run_copy.h"

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "host/base/text/text.h"

namespace rtrain::store {
namespace {

// Parents before their children.
constexpr std::array kTables{"runs",    "attempts",    "workers",     "reports",
                             "nodes",   "checkpoints", "annotations", "events",
                             "sources", "series",      "media",       "media_contents"};

// An attached database. It is detached by the destructor, after the transaction.
class Attached {
 public:
  Attached(Database& database, const std::string& path) : database_(database) {
    database_.run("ATTACH ? AS source", path);
  }
  ~Attached() {
    try {
      database_.run("DETACH source");
    } catch (const Error&) {
      // Closing the connection detaches it too.
    }
  }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

 private:
  Database& database_;
};

// All columns except row numbers that the database assigns, which differ between databases.
std::string columns_of(Database& database, const std::string& table) {
  std::vector<std::string> names;
  Statement query = database.prepare(cat("PRAGMA table_info(", table, ")"));
  while (query.next()) {
    const bool is_row_number =
        query.text(2) == "INTEGER" && query.integer(5) == 1 && query.text(1).ends_with("_id");
    if (!is_row_number) names.push_back(query.text(1));
  }
  return join(names, ", ");
}

std::optional<std::string> find_id(Database& database, const std::string& name) {
  Statement query =
      database.prepare("SELECT run_id FROM source.runs WHERE name = ? AND status != 'QUEUED'");
  if (!query.add(name).next()) return std::nullopt;
  return query.text(0);
}

// Series have different numbers in the two databases, so points are matched by key, rank and
// attempt.
void copy_points(Database& to, const std::string& run_id) {
  const auto copy = [&](const std::string& table, const std::string& columns) {
    to.run(cat("INSERT INTO main.", table, "(series_id, ", columns, ") SELECT mine.series_id, ",
               columns, " FROM source.", table,
               " JOIN source.series AS theirs USING(series_id) "
               "JOIN main.series AS mine ON mine.run_id = theirs.run_id AND mine.key = theirs.key "
               "AND mine.rank = theirs.rank AND mine.attempt = theirs.attempt "
               "WHERE theirs.run_id = ?"),
           run_id);
  };
  copy("series_chunks", "number, count, first_step, last_step, first_time, last_time, data");
  copy("series_summaries", "level, number, chunks, points, min, max, sum, data, parts");
}

}  // namespace

bool copy_run(Database& to, const std::string& from, const std::string& name,
              const std::function<bool()>& is_wanted) {
  { const Database migrated = Database::open(from); }  // to the schema of this rtrain
  const Attached attached(to, from);
  Transaction transaction(to, Durability::kFull);
  const std::optional<std::string> run_id = find_id(to, name);
  if (!run_id || !is_wanted()) return false;
  to.run("DELETE FROM main.runs WHERE name = ? OR run_id = ?", name, *run_id);
  for (const char* table : kTables) {
    const std::string columns = columns_of(to, table);
    to.run(cat("INSERT INTO main.", table, "(", columns, ") SELECT ", columns, " FROM source.",
               table, " WHERE run_id = ?"),
           *run_id);
  }
  copy_points(to, *run_id);
  transaction.commit();
  return true;
}

}  // namespace rtrain::store
