#include "host/store/read/live_runs.h"

#include <algorithm>

#include "host/base/clock.h"
#include "host/machine/machine.h"
#include "host/machine/processes/process_facts.h"
#include "host/store/claim/run_status.h"
#include "host/store/read/run_listing.h"
#include "host/store/read/run_progress.h"

namespace rtrain::store {
namespace {

// The keys of RunListing::row and read_progress.
Map progress_of(Database& database, const std::string& run_id) {
  Map out = RunListing(database).row(run_id).as_map();
  for (const auto& [key, value] : read_progress(database, run_id)) out.set(key, value);
  return out;
}

// Adds the ids of runs without an end in the store: live, queued or lost.
void add_unfinished(Database& database, std::set<std::string>& ids) {
  Statement query =
      database.prepare("SELECT run_id FROM runs WHERE ended_at IS NULL AND NOT is_final(status)");
  while (query.next()) ids.insert(query.text(0));
}

}  // namespace

bool is_over(const Value& run) {
  const std::string& status = run["status"].as_string();
  return is_final_status(status) || status == "LOST";
}

void LiveRuns::add_usage(Map& rank) {
  rank.set("cpu_percent", {});
  rank.set("memory_bytes", {});
  if (rank["is_over"].as_bool() || rank["host"].as_string() != machine::hostname()) return;
  const int64_t pid = rank["pid"].as_int();
  const machine::ProcessFacts facts = machine::process_facts(static_cast<int>(pid));
  if (facts.state == '?') return;
  const Usage now{.cpu_s = facts.cpu_s, .at_s = monotonic_s()};
  rank.set("memory_bytes", facts.memory_bytes);
  const auto [last, is_first] = usage_.try_emplace(pid, now);
  const double elapsed_s = now.at_s - last->second.at_s;
  if (!is_first && elapsed_s > 0) {
    constexpr double kPercent = 100;
    rank.set("cpu_percent", kPercent * std::max(0.0, now.cpu_s - last->second.cpu_s) / elapsed_s);
  }
  last->second = now;
}

void LiveRuns::add(List& out, Database& database, const std::string& run_id) {
  Map run;
  try {
    run = progress_of(database, run_id);
  } catch (const Error& e) {
    if (e.code() != Code::kUsage || run_) throw;
    seen_.erase(run_id);  // the run was removed
    return;
  }
  if (is_over(run) && !run_ && !seen_.contains(run_id)) return;
  seen_.insert(run_id);
  for (Value& rank : run.find("ranks")->as_list()) {
    add_usage(rank.as_map());
    rank.as_map().del("is_over");
  }
  out.push_back(std::move(run));
}

List LiveRuns::look(std::optional<OpenStore> store) {
  List out;
  if (!store) return out;
  Database& database = store->database();
  if (run_) {
    add(out, database, *run_);
    return out;
  }
  std::set<std::string> ids = seen_;
  add_unfinished(database, ids);
  for (const std::string& id : ids) add(out, database, id);
  std::stable_sort(out.begin(), out.end(), [](const Value& a, const Value& b) {
    if (is_over(a) != is_over(b)) return is_over(b);
    return a["started_at"].string_or("") > b["started_at"].string_or("");
  });
  return out;
}

}  // namespace rtrain::store
