#include "host/dash/api.h"

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/dash/file_answers.h"
#include "host/dash/media_answers.h"
#include "host/dash/run_actions.h"
#include "host/dash/run_answers.h"
#include "host/machine/leases/resource_report.h"

namespace rtrain::dash {
namespace {

HttpReply answer_resources(const Api&, const ApiRequest&) {
  return json_reply(machine::read_resources());
}

HttpReply answer_routes(const Api&, const ApiRequest& request) {
  List rows;
  for (const Route& route : Api::routes()) {
    List queries;
    for (const char* name : route.queries) queries.emplace_back(name);
    rows.push_back(
        Map{{"method", route.method}, {"path", route.path}, {"queries", std::move(queries)}});
  }
  return json_reply(Map{{"may_write", request.request.may_write}, {"routes", std::move(rows)}});
}

int status_of(Code code) {
  switch (code) {
    case Code::kUsage:
    case Code::kArgument:
    case Code::kConfig:
      return 400;
    case Code::kNotFound:
      return 404;
    case Code::kEnvironment:
      return 503;
    default:
      return 500;
  }
}

}  // namespace

std::span<const Route> Api::routes() {
  static const std::vector<Route> kRoutes = {
      {"GET", "/api/", {}, answer_routes},
      {"GET",
       "/api/runs",
       {"where", "sort", "tag", "archived", "offset", "limit", "spark", "config"},
       answer_runs},
      {"GET", "/api/tags", {"offset", "limit"}, answer_tags},
      {"GET", "/api/events", {}, stream_runs},
      {"GET", "/api/compare", {"a", "b"}, answer_compare},
      {"GET", "/api/resources", {}, answer_resources},
      {"GET", "/api/nodes", {"run", "offset", "limit"}, answer_nodes},
      {"GET", "/api/runs/{run}", {}, answer_run},
      {"GET", "/api/runs/{run}/events", {}, stream_run},
      {"GET", "/api/runs/{run}/hangs", {}, answer_hangs},
      {"GET", "/api/runs/{run}/memory", {"rank"}, answer_memory},
      {"GET", "/api/runs/{run}/metrics", {"ranks", "all", "offset", "limit"}, answer_metrics},
      {"GET", "/api/runs/{run}/curves", {}, answer_curves},
      {"GET", "/api/runs/{run}/curve", {"name", "rank", "points", "from", "to"}, answer_curve},
      {"GET", "/api/runs/{run}/media", {"name", "offset", "limit"}, answer_media},
      {"GET", "/api/runs/{run}/media/content", {"hash"}, answer_media_content},
      {"GET", "/api/runs/{run}/checkpoints", {"all", "offset", "limit"}, answer_checkpoints},
      {"GET", "/api/runs/{run}/sources", {}, answer_sources},
      {"GET",
       "/api/runs/{run}/logs",
       {"attempt", "rank", "contains", "offset", "limit", "tail"},
       answer_logs},
      {"GET", "/api/runs/{run}/logs/file", {"attempt", "rank"}, answer_log_file},
      {"GET", "/api/runs/{run}/traces", {"offset", "limit"}, answer_traces},
      {"GET", "/api/runs/{run}/traces/file", {"name"}, answer_trace_file},
      {"GET", "/api/runs/{run}/logs/events", {"attempt", "rank", "contains", "tail"}, stream_logs},
      {"POST", "/api/runs/{run}/note", {}, set_note},
      {"POST", "/api/runs/{run}/tags", {}, change_tags},
      {"POST", "/api/runs/{run}/archived", {}, set_archived},
      {"POST", "/api/runs/{run}/stop", {}, stop_run, true},
      {"POST", "/api/runs/{run}/stack", {}, show_stacks, true},
      {"POST", "/api/runs/{run}/profile", {}, record_profiles, true},
  };
  return kRoutes;
}

store::OpenRun Api::open_run(const std::string& run) const {
  try {
    return store::RunReader::open_run(storage_path_, run);
  } catch (const Error& e) {
    const auto known = problems();
    if (const auto found = known.find(run); found != known.end()) {
      throw Error(Code::kNotFound, cat("run '", run, "': ", found->second));
    }
    if (e.code() != Code::kUsage) throw;
    throw Error(Code::kNotFound, e.message());
  }
}

bool Api::may_take_long(const http::HttpRequest& request) const {
  const Route* route = find_route(routes(), request);
  return route != nullptr && route->may_take_long;
}

HttpReply Api::answer(const http::HttpRequest& request) const {
  try {
    return call_route(routes(), *this, request);
  } catch (const Error& e) {
    return {http::error_response(status_of(e.code()), code_name(e.code()), e.message())};
  } catch (const std::exception& e) {
    return {http::error_response(500, code_name(Code::kInternal), e.what())};
  }
}

}  // namespace rtrain::dash
