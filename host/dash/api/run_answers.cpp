#include "host/dash/api/run_answers.h"

#include <algorithm>

#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/dash/api/curve.h"
#include "host/dash/api/paging.h"
#include "host/profile/memory_report.h"
#include "host/store/claim/run_lock.h"
#include "host/store/files/file.h"
#include "host/store/read/checkpoint_rows.h"
#include "host/store/read/curves/curve_points.h"
#include "host/store/read/logs/newest_lines.h"
#include "host/store/read/report_rows.h"
#include "host/store/read/run_comparison.h"
#include "host/store/read/run_document.h"
#include "host/store/read/run_listing.h"
#include "host/store/runs/diagnosis.h"
#include "host/store/runs/node_store.h"
#include "host/store/runs/source_store.h"

namespace rtrain::dash {
namespace {

constexpr int64_t kMostParts = 10000;
constexpr int64_t kFewParts = 1000;
constexpr size_t kMostHangs = 20;

List list_of(std::vector<std::string> names) {
  return {std::make_move_iterator(names.begin()), std::make_move_iterator(names.end())};
}

store::LogChoice log_choice(const ApiRequest& request) {
  store::LogChoice out{.rank = request.number("rank", -1, -1),
                       .attempt = request.number("attempt", -1, -1)};
  const std::string part = request.text("contains");
  if (part.empty()) return out;
  out.matches = [part](std::string_view line) { return line.find(part) != std::string_view::npos; };
  return out;
}

}  // namespace

HttpReply answer_nodes(const Api& api, const ApiRequest& request) {
  const PageChoice page(request);
  auto store = api.open_store();
  if (!store) return json_reply(page_of("nodes", {}, page));
  store::RunFilter filter{
      .where = {}, .sort = {}, .limit = page.limit, .offset = page.offset, .archived = true};
  const std::string name = request.text("run");
  if (!name.empty()) {
    filter.where = cat("run_id = '", api.open_run(name).ref.run_id, "'");
  }
  store::RunListing listing(store->database());
  List rows;
  for (const Value& run : listing.rows(filter)) {
    for (const Value& node : store::read_hosts(store->database(), run["run_id"].as_string())) {
      Map row;
      for (const char* key : {"name", "run_id", "status", "started_at", "ended_at"}) {
        row.set(key, run[key]);
      }
      for (const auto& [key, value] : node.as_map()) row.set(key, value);
      rows.emplace_back(std::move(row));
    }
  }
  return json_reply(page_with("nodes", std::move(rows), listing.count(filter), page));
}

HttpReply answer_run(const Api& api, const ApiRequest& request) {
  store::OpenRun run = api.open_run(request.run);
  Map out = store::read_whole_run(run.store, run.ref).as_map();
  // These lists have routes of their own, or may be long: this answer has only the newest rows.
  for (const char* name : {"checkpoints", "annotations", "events"}) {
    List& rows = out.find(name)->as_list();
    const size_t more = rows.size() > kMostRows ? rows.size() - kMostRows : 0;
    rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(more));
  }
  out.set("live", store::RunLock::is_held(run.ref.path));
  out.set("hangs", static_cast<int64_t>(store::count_diagnoses(run.ref.path)));
  out.set("archived", store::RunListing(run.store.database()).is_archived(run.ref.run_id));
  const auto problems = api.problems();
  const auto problem = problems.find(run.ref.name);
  out.set("problem", problem == problems.end() ? Value() : Value(problem->second));
  return json_reply(std::move(out));
}

HttpReply answer_hangs(const Api& api, const ApiRequest& request) {
  const store::OpenRun run = api.open_run(request.run);
  return json_reply(Map{{"hangs", store::read_diagnoses(run.ref.path, kMostHangs)},
                        {"total", store::count_diagnoses(run.ref.path)}});
}

HttpReply answer_metrics(const Api& api, const ApiRequest& request) {
  const PageChoice page(request);
  store::OpenRun run = api.open_run(request.run);
  const bool all = request.flag("all");
  List rows =
      store::report_rows(run.store.database(), run.ref.run_id,
                         {.ranks = request.flag("ranks"),
                          .all = all,
                          .page = store::RowRange{.offset = page.offset, .limit = page.limit}});
  return json_reply(
      Map{{"rows", std::move(rows)},
          {"total", store::count_report_rows(run.store.database(), run.ref.run_id, all)},
          {"offset", page.offset},
          {"limit", page.limit}});
}

HttpReply answer_curves(const Api& api, const ApiRequest& request) {
  store::OpenRun run = api.open_run(request.run);
  store::CurveNames names =
      store::curve_names(run.store.database(), api.report_charts(), run.ref.run_id);
  return json_reply(Map{{"names", list_of(names.all())},
                        {"reported", list_of(std::move(names.reported))},
                        {"logged", list_of(std::move(names.logged))}});
}

HttpReply answer_curve(const Api& api, const ApiRequest& request) {
  store::OpenRun run = api.open_run(request.run);
  // An empty name is valid: runs of older versions may have a metric with that name.
  const auto given = request.request.query.find("name");
  if (!given) throw Error(Code::kUsage, "name: which metric? /curves lists them");
  const std::string& name = *given;
  const int64_t rank = request.number("rank", 0);
  store::ChartQuery query;
  query.columns = static_cast<size_t>(std::min(request.number("points", kFewParts, 1), kMostParts));
  query.from_step = request.number("from", query.from_step, query.from_step);
  query.to_step = request.number("to", query.to_step, query.from_step);
  const std::vector<store::SeriesSummary> columns =
      store::curve_columns(run.store.database(), api.report_charts(), run.ref.run_id, name, rank,
                           query, request.flag("logged"));
  int64_t total = 0;
  for (const store::SeriesSummary& column : columns) total += column.count;
  Map out{{"name", name}, {"rank", rank}, {"total", total}};
  for (const auto& [key, value] : describe_curve(columns)) out.set(key, value);
  return json_reply(std::move(out));
}

HttpReply answer_checkpoints(const Api& api, const ApiRequest& request) {
  const PageChoice page(request);
  store::OpenRun run = api.open_run(request.run);
  return json_reply(page_of("checkpoints",
                            store::checkpoint_rows(run.store, run.ref, request.flag("all")), page));
}

HttpReply answer_sources(const Api& api, const ApiRequest& request) {
  store::OpenRun run = api.open_run(request.run);
  return json_reply(Map{{"sources", store::read_sources(run.store.database(), run.ref.run_id)}});
}

// Answers the last lines with `tail`, else the lines from `offset` on.
HttpReply answer_logs(const Api& api, const ApiRequest& request) {
  const PageChoice page(request);
  const int64_t tail = std::min(request.number("tail", 0), kMostRows);
  const store::OpenRun run = api.open_run(request.run);
  store::RunLogs logs(run.ref, log_choice(request));
  logs.find();
  store::NewestLines lines(static_cast<size_t>(tail > 0 ? tail : page.limit));
  int64_t total = 0;
  logs.each_new_line(true, [&](const store::RunLogLine& line) {
    const int64_t number = total++;
    if (tail > 0 || (number >= page.offset && number < page.offset + page.limit)) lines.add(line);
  });
  List chosen = store::describe_log_lines(lines);
  const int64_t first = tail > 0 ? total - static_cast<int64_t>(chosen.size()) : page.offset;
  return json_reply(Map{{"lines", std::move(chosen)},
                        {"total", total},
                        {"offset", first},
                        {"limit", tail > 0 ? tail : page.limit}});
}

HttpReply answer_compare(const Api& api, const ApiRequest& request) {
  store::OpenRun first = api.open_run(request.text("a"));
  const store::RunRef second = api.open_run(request.text("b")).ref;
  return json_reply(store::compare_runs(first.store, first.ref, second));
}

HttpReply stream_runs(const Api& api, const ApiRequest&) {
  return stream_reply(follow_runs(api.feed(), ""));
}

HttpReply stream_run(const Api& api, const ApiRequest& request) {
  return stream_reply(follow_runs(api.feed(), api.open_run(request.run).ref.run_id));
}

HttpReply stream_logs(const Api& api, const ApiRequest& request) {
  store::LogChoice choice = log_choice(request);
  choice.all_attempts = true;
  choice.last_lines = std::min(request.number("tail", kFewRows), kMostRows);
  return stream_reply(follow_logs(api.open_run(request.run).ref, std::move(choice)));
}

}  // namespace rtrain::dash
