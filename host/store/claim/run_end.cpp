#include "host/store/claim/run_end.h"

#include <fcntl.h>
#include <unistd.h>

#include <optional>

#include "host/base/clock.h"
#include "host/base/codec/json.h"
#include "host/base/text/text.h"
#include "host/store/claim/run_lock.h"
#include "host/store/claim/run_name.h"
#include "host/store/claim/run_status.h"

namespace rtrain::store {
namespace {

constexpr off_t kBytes = 64 << 10;
constexpr size_t kMostText = 20000;  // for one field; as JSON it may be longer

std::string end_path(const std::string& run_path) { return run_path + "/end"; }

Value shortened(const Value& error) {
  if (!error.is_map()) return error;
  Map out;
  for (const char* key : {"code", "message", "traceback", "kind", "rank"}) {
    const Value& field = error[key];
    if (field.is_nil()) continue;
    const bool is_long = field.is_string() && field.as_string().size() > kMostText;
    out.set(key, is_long ? Value(field.as_string().substr(0, kMostText)) : field);
  }
  out.set("ranks", Map{});
  return out;
}

// nullopt if the run ended in the store or has not ended.
std::optional<Value> read_end(const std::string& run_path) {
  const std::string path = end_path(run_path);
  if (path_kind(path) != "file") return std::nullopt;
  std::string text = read_text(path);
  text.resize(text.find('\0') == std::string::npos ? text.size() : text.find('\0'));
  if (text.empty()) return std::nullopt;
  try {
    const Value end = from_json(text);
    const bool is_end = end.is_map() && is_final_status(end["status"].string_or(""));
    return is_end ? std::optional(end) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // half written: the run stays LOST
  }
}

struct OpenRunRow {
  std::string run_id;
  std::string name;
};

std::vector<OpenRunRow> runs_without_end(Database& database) {
  Statement query = database.prepare(
      "SELECT run_id, name, status FROM runs WHERE ended_at IS NULL ORDER BY name");
  std::vector<OpenRunRow> out;
  while (query.next()) {
    if (!is_final_status(query.text(2))) out.push_back({query.text(0), query.text(1)});
  }
  return out;
}

void enter(Database& database, const std::string& run_id, const Value& end) {
  const std::string status = end["status"].as_string();
  std::optional<std::string> error;
  if (!end["error"].is_nil()) error = to_json(end["error"]);
  const int64_t time = end["time"].int_or(now_ms());
  Transaction transaction(database, Durability::kFull);
  database.run("UPDATE runs SET status = ?, ended_at = ?, error = ? WHERE run_id = ?", status, time,
               error, run_id);
  database.run(
      "UPDATE attempts SET status = ?, ended_at = ?, error = ? WHERE run_id = ? AND ended_at IS "
      "NULL",
      status, time, error, run_id);
  transaction.commit();
}

}  // namespace

RunEnd::RunEnd(const std::string& run_path)
    : file_(end_path(run_path), O_RDWR | O_CREAT | O_TRUNC) {
  const int reason = ::posix_fallocate(file_.fd(), 0, kBytes);
  if (reason != 0) throw file_error("write", file_.path(), reason);
}

void RunEnd::write(std::string_view run_id, int64_t owner_epoch, std::string_view status,
                   const Value& error) {
  std::string text = to_json(Map{{"run_id", run_id},
                                 {"owner_epoch", owner_epoch},
                                 {"status", status},
                                 {"time", now_ms()},
                                 {"error", shortened(error)}}) +
                     "\n";
  text.resize(kBytes);
  if (::lseek(file_.fd(), 0, SEEK_SET) != 0) throw file_error("write", file_.path());
  file_.write(text);
  file_.sync_data();
}

void RunEnd::remove() const { ::unlink(file_.path().c_str()); }

std::optional<std::string> run_end_status(const std::string& run_path, std::string_view run_id) {
  const auto end = read_end(run_path);
  if (!end || (*end)["run_id"] != Value(run_id)) return std::nullopt;
  return (*end)["status"].as_string();
}

std::vector<std::string> enter_run_ends(Database& database, const std::string& storage_path) {
  std::vector<std::string> lines;
  for (const OpenRunRow& run : runs_without_end(database)) {
    if (!run_name_problem(run.name).empty()) continue;
    const std::string run_path = cat(storage_path, "/", run.name);
    if (!read_end(run_path)) continue;
    const auto lock = RunLock::try_take(run_path);
    const auto end = lock ? read_end(run_path) : std::nullopt;
    if (!end || (*end)["run_id"] != Value(run.run_id)) continue;
    enter(database, run.run_id, *end);
    ::unlink(end_path(run_path).c_str());
    lines.push_back(cat("run ", run.name, ": ", (*end)["status"].as_string(),
                        ", as its controller left it in ", end_path(run_path)));
  }
  return lines;
}

}  // namespace rtrain::store
