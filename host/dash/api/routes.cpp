#include "host/dash/api/routes.h"

#include "host/dash/api/file_answers.h"
#include "host/dash/api/list_answers.h"
#include "host/dash/api/media_answers.h"
#include "host/dash/api/profile_answers.h"
#include "host/dash/api/run_actions.h"
#include "host/dash/api/run_answers.h"
#include "host/dash/api/sweep_answers.h"
#include "host/dash/api/view_answers.h"
#include "host/machine/leases/resource_report.h"

namespace rtrain::dash {
namespace {

using enum ParameterType;

constexpr Parameter kOffset{"offset", kInteger, "Number of the first row"};
constexpr Parameter kLimit{"limit", kInteger, "The largest number of rows, up to 1000"};

// The queries of a list of runs.
std::vector<Parameter> with_filters(std::vector<Parameter> others) {
  std::vector<Parameter> out = {
      {"where", kString, "An SQL expression over the columns of rtrain ls"},
      {"text", kString, "Words that the name, the note, tags or config have"},
      {"tag", kStrings, "Only runs with all these tags"},
      {"status", kStrings, "Only runs with one of these states"},
      {"archived", kBoolean, "Also archived runs"},
      {"key", kStrings, "A column, as in sort"}};
  out.insert(out.end(), others.begin(), others.end());
  return out;
}

HttpReply answer_resources(const Api&, const ApiRequest&) {
  return json_reply(machine::read_resources());
}

HttpReply answer_routes(const Api&, const ApiRequest& request) {
  List rows;
  for (const Route& route : all_routes()) {
    List queries;
    for (const Parameter& query : route.queries) queries.emplace_back(query.name);
    rows.push_back(
        Map{{"method", route.method}, {"path", route.path}, {"queries", std::move(queries)}});
  }
  return json_reply(Map{{"may_write", request.request.may_write}, {"routes", std::move(rows)}});
}

}  // namespace

std::span<const Route> all_routes() {
  static const std::vector<Route> kRoutes = {
      {.method = "GET",
       .path = "/api/",
       .summary = "The routes",
       .result = "may_write: whether the token may change something; routes: method, path, queries "
                 "of each",
       .answer = answer_routes},
      {.method = "GET",
       .path = "/api/runs",
       .summary = "Runs, the newest first",
       .queries = with_filters(
           {{"sort", kString,
             "A column, metric or config.KEY, or min(METRIC), max(METRIC), last(METRIC); with "
             "- in front the largest first"},
            {"column", kStrings, "Adds cells to each run: the values of columns, as in sort"},
            {"value", kStrings,
             "Only runs in which the key at the same place has this value, as JSON"},
            kOffset,
            kLimit,
            {"spark", kString, "Adds spark to each run: up to 60 means of this metric of rank 0"},
            {"config", kBoolean, "Adds config to each run"}}),
       .result =
           "runs (the keys of rtrain ls --json), total, offset, limit; problems: name and problem "
           "of each run whose newest rows in the object store cannot be read, 20 at most",
       .answer = answer_runs},
      {.method = "GET",
       .path = "/api/groups",
       .summary = "Runs in groups with the same values of the keys",
       .queries = with_filters(
           {{"column", kStrings, "A column, as in /api/runs"},
            {"sort", kString, "A key, a column or runs; with - in front the largest first"},
            kOffset,
            kLimit}),
       .result = "groups (values of the keys; runs, how many; cells, of each column value, if all "
                 "runs have it, or mean, deviation, count; members, 20 at most: name, started_at), "
                 "total, offset, limit",
       .answer = answer_groups},
      {.method = "GET",
       .path = "/api/columns",
       .summary = "The names that filters, orders and columns may use",
       .result = "own, reported, logged: lists of names; config: those of the newest 1000 runs",
       .answer = answer_columns},
      {.method = "GET",
       .path = "/api/tags",
       .summary = "All tags, that of the newest run first",
       .queries = {kOffset, kLimit},
       .result = "tags: tag, runs (how many have it), started_at (of the last of them); total, "
                 "offset, limit",
       .answer = answer_tags},
      {.method = "GET",
       .path = "/api/views",
       .summary = "The saved views of pages, by name",
       .result = "views: name, address (what stands behind #/ in the browser), saved_at",
       .answer = answer_views},
      {.method = "POST",
       .path = "/api/views",
       .summary = "Saves a view under a name, or removes it if there is no address",
       .body = {{"name", kString, "At most 100 bytes"}, {"address", kString, ""}},
       .result = "As GET",
       .answer = set_view},
      {.method = "GET",
       .path = "/api/sweep",
       .summary = "The objective of a sweep, and the rungs of its scheduler",
       .queries = {{"name", kString, "The sweep; its runs have the tag sweep:NAME"}},
       .result =
           "name, metric, mode, time_attr, milestones; metric and mode are null if the sweep has "
           "none, milestones is empty without rungs",
       .answer = answer_sweep},
      {.method = "GET",
       .path = "/api/events",
       .summary = "Changes of runs, as events",
       .result = "runs: the changed ones, with the keys of rtrain watch --json",
       .content = Content::kEvents,
       .answer = stream_runs},
      {.method = "GET",
       .path = "/api/compare",
       .summary = "How two runs differ",
       .queries = {{"a", kString, "A run"}, {"b", kString, "Another run"}},
       .result = "The keys of rtrain diff --json",
       .answer = answer_compare},
      {.method = "GET",
       .path = "/api/resources",
       .summary = "Cores and GPUs of this node",
       .result = "The keys of rtrain resources --json",
       .answer = answer_resources},
      {.method = "GET",
       .path = "/api/nodes",
       .summary = "Nodes of runs, those of the newest run first",
       .queries = {{"run", kString, "Only this run"},
                   {"offset", kInteger, "Number of the first run"},
                   {"limit", kInteger, "The largest number of runs, up to 1000"}},
       .result = "nodes (name, run_id, status, started_at, ended_at of the run; node, host, "
                 "address, ranks, devices, exits, checks, evicted_at, reason of the node), total, "
                 "offset, limit: of runs",
       .answer = answer_nodes},
      {.method = "GET",
       .path = "/api/runs/{run}",
       .summary = "One run",
       .result =
           "The keys of rtrain show --json, note, error, return_value, checkpoint_config, events, "
           "live; problem: why its newest rows in the object store cannot be read, else null",
       .answer = answer_run},
      {.method = "GET",
       .path = "/api/runs/{run}/events",
       .summary = "Changes of one run, as events",
       .result = "runs: the run after each change, until its end",
       .content = Content::kEvents,
       .answer = stream_run},
      {.method = "GET",
       .path = "/api/runs/{run}/hangs",
       .summary = "The moments at which ranks of the run seemed to hang",
       .result = "hangs, the newest first, 20 at most: name, time, attempt, verdict, ranks (rank, "
                 "pid, state, phase, lua, collectives); total",
       .answer = answer_hangs},
      {.method = "GET",
       .path = "/api/runs/{run}/memory",
       .summary = "The newest memory profile of a rank",
       .queries = {{"rank", kInteger, "The rank; default 0"}},
       .result = "name, run_id, profile: null without one, else rank, time_ms, seconds, reports, "
                 "names, devices (device, begin_bytes, end_bytes, peak_bytes, new_bytes, "
                 "taken_count, reachable_bytes, curve, lines, num_lines, tensors)",
       .answer = answer_memory},
      {.method = "GET",
       .path = "/api/runs/{run}/flame",
       .summary = "The newest samples of a rank's stacks, as the boxes of a flame graph",
       .queries = {{"rank", kInteger, "The rank; default 0"}},
       .result = "name, run_id, flame: null without samples, else file, title, seconds, boxes "
                 "(name, depth, begin, width, seconds, colour)",
       .answer = answer_flame},
      {.method = "GET",
       .path = "/api/runs/{run}/flame/file",
       .summary = "The same samples as a flame graph in SVG",
       .queries = {{"rank", kInteger, "The rank; default 0"}},
       .result = "The SVG file",
       .content = Content::kDownload,
       .answer = answer_flame_file},
      {.method = "GET",
       .path = "/api/runs/{run}/metrics",
       .summary = "Reports",
       .queries = {{"ranks", kBoolean, "Every rank's metrics"},
                   {"all", kBoolean, "Also superseded or dropped ones"},
                   kOffset,
                   kLimit},
       .result = "rows (the keys of rtrain metrics --json), total, offset, limit",
       .answer = answer_metrics},
      {.method = "GET",
       .path = "/api/runs/{run}/curves",
       .summary = "The names of all curves",
       .result = "names; reported: those of reports; logged: those of train.log",
       .answer = answer_curves},
      {.method = "GET",
       .path = "/api/runs/{run}/curve",
       .summary = "A curve in parts with the same number of steps",
       .queries = {{"name", kString, "A metric, or a key of train.log"},
                   {"rank", kInteger, "Only this rank"},
                   {"points", kInteger, "The largest number of parts, up to 10000"},
                   {"from", kInteger, "The first step"},
                   {"to", kInteger, "The last step"},
                   {"logged", kBoolean,
                    "The values of train.log, also if the metric was reported"}},
       .result = "name, rank, total, steps, times, min, max, mean, counts, nonfinite: exact for "
                 "each part; without max, mean and counts each part is one point",
       .answer = answer_curve},
      {.method = "GET",
       .path = "/api/runs/{run}/media",
       .summary =
           "Images, videos, audio, histograms, tables and texts, by kind, name, step and rank",
       .queries = {{"name", kString, "Only this name"}, kOffset, kLimit},
       .result = "media (kind, name, step, rank, attempt, time, bytes, hash), total, offset, limit",
       .answer = answer_media},
      {.method = "GET",
       .path = "/api/runs/{run}/media/content",
       .summary = "The content of one of them",
       .queries = {{"hash", kString, "A hash from /media"}},
       .result = "An image or video as PNG; audio as WAV; a histogram or table as JSON; a text",
       .content = Content::kMedia,
       .answer = answer_media_content},
      {.method = "GET",
       .path = "/api/runs/{run}/media/histograms",
       .summary = "Histograms of one name over the steps",
       .queries = {{"name", kString, "A name from /media"},
                   {"rank", kInteger, "The rank; default 0"}},
       .result = "histograms, by step, at most 150 in even distances: step, edges, counts, num, "
                 "min, max, sum, sum_squares, nonfinite; total",
       .answer = answer_histograms},
      {.method = "GET",
       .path = "/api/runs/{run}/checkpoints",
       .summary = "Checkpoints",
       .queries = {{"all", kBoolean, "Also superseded or dropped ones"}, kOffset, kLimit},
       .result = "checkpoints (the keys of rtrain checkpoint ls --json), total, offset, limit",
       .answer = answer_checkpoints},
      {.method = "GET",
       .path = "/api/runs/{run}/sources",
       .summary = "Script, modules and git diff",
       .result = "sources: kind, path, text of each",
       .answer = answer_sources},
      {.method = "GET",
       .path = "/api/runs/{run}/logs",
       .summary = "Lines that the workers printed",
       .queries = {{"attempt", kInteger, "The attempt; default: the last one"},
                   {"rank", kInteger, "Only this rank"},
                   {"contains", kString, "Lines with this text"},
                   kOffset,
                   kLimit,
                   {"tail", kInteger, "The number of last lines, up to 1000"}},
       .result = "lines (attempt, rank, time, line), total, offset, limit",
       .answer = answer_logs},
      {.method = "GET",
       .path = "/api/runs/{run}/logs/file",
       .summary = "The log of one rank; long logs lose their beginning",
       .queries = {{"attempt", kInteger, "The attempt; default: the last one"},
                   {"rank", kInteger, "The rank; default 0"}},
       .result = "The whole file",
       .content = Content::kText,
       .answer = answer_log_file},
      {.method = "GET",
       .path = "/api/runs/{run}/traces",
       .summary = "Traces that rtrain profile wrote, the newest first",
       .queries = {kOffset, kLimit},
       .result = "traces (name, bytes, time), total, offset, limit",
       .answer = answer_traces},
      {.method = "GET",
       .path = "/api/runs/{run}/traces/file",
       .summary = "One of these traces",
       .queries = {{"name", kString, "A name from /traces"}},
       .result = "The whole file",
       .content = Content::kBytes,
       .answer = answer_trace_file},
      {.method = "GET",
       .path = "/api/runs/{run}/logs/events",
       .summary = "Lines as the workers print them, as events",
       .queries = {{"attempt", kInteger, "The attempt; default: the last one"},
                   {"rank", kInteger, "Only this rank"},
                   {"contains", kString, "Lines with this text"},
                   {"tail", kInteger, "The number of last lines, up to 1000"}},
       .result = "lines: new ones; end: the run has ended",
       .content = Content::kEvents,
       .answer = stream_logs},
      {.method = "POST",
       .path = "/api/runs/{run}/note",
       .summary = "Writes the run's note",
       .body = {{"note", kString, ""}},
       .result = "name, run_id, note",
       .answer = set_note},
      {.method = "POST",
       .path = "/api/runs/{run}/name",
       .summary = "Renames a run that is not live",
       .body = {{"name", kString, ""}},
       .result = "name, run_id",
       .answer = set_name},
      {.method = "POST",
       .path = "/api/runs/{run}/tags",
       .summary = "Adds and removes tags",
       .body = {{"add", kStrings, ""}, {"remove", kStrings, ""}},
       .result = "name, run_id, tags",
       .answer = change_tags},
      {.method = "POST",
       .path = "/api/runs/{run}/archived",
       .summary = "Archives the run, or lists it again",
       .body = {{"archived", kBoolean, ""}},
       .result = "name, run_id, archived",
       .answer = set_archived},
      {.method = "POST",
       .path = "/api/runs/{run}/stop",
       .summary = "Stops a live run at its next checkpoint",
       .body = {{"now", kBoolean, "Kill its workers, without another checkpoint"}},
       .result = "name, run_id, grace_s (within that time it ends), pid (of its controller)",
       .answer = stop_run,
       .may_take_long = true},
      {.method = "POST",
       .path = "/api/runs/{run}/stack",
       .summary = "The stacks of the ranks of a live run",
       .body = {{"rank", kInteger, "Only this rank"},
                {"native", kBoolean, "Also native frames in text"}},
       .result = "The keys of rtrain stack --json, and text of each rank",
       .answer = show_stacks,
       .may_take_long = true},
      {.method = "POST",
       .path = "/api/runs/{run}/profile",
       .summary = "Profiles the ranks of a live run; answers when the profile is there",
       .body = {{"rank", kInteger, "Only this rank"},
                {"seconds", kNumber, "From 0.01 to 60; default 5"},
                {"shapes", kBoolean, "With the shapes of the operators' inputs"},
                {"flame", kBoolean, "Samples of the stacks instead of a trace, for /flame"},
                {"idle", kBoolean, "Also threads that wait"},
                {"memory", kBoolean, "A profile of memory instead of a trace"}},
       .result = "The keys of rtrain profile --json",
       .answer = record_profiles,
       .may_take_long = true},
  };
  return kRoutes;
}

}  // namespace rtrain::dash
