#include "host/dash/api/file_answers.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/dash/api/paging.h"
#include "host/store/files/file.h"
#include "host/store/read/logs/run_logs.h"

namespace rtrain::dash {
namespace {

struct Trace {
  std::string name;
  int64_t bytes;
  int64_t time_ms;
};

std::string traces_folder(const store::RunRef& run) { return run.path + "/profiles"; }

// Whether the name can be written into a header.
bool is_plain(std::string_view name) {
  return !name.starts_with('.') && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  });
}

std::vector<Trace> traces_of(const store::RunRef& run) {
  std::vector<Trace> out;
  for (const std::string& name : store::folder_entries(traces_folder(run))) {
    struct stat info {};
    const std::string path = cat(traces_folder(run), "/", name);
    if (!is_plain(name) || ::lstat(path.c_str(), &info) != 0) continue;
    if (!S_ISREG(info.st_mode)) continue;
    constexpr int64_t kMs = 1000;
    out.push_back({name, info.st_size, int64_t{info.st_mtim.tv_sec} * kMs});
  }
  std::sort(out.begin(), out.end(), [](const Trace& a, const Trace& b) { return a.name > b.name; });
  return out;
}

HttpReply file_reply(const store::RunRef& run, const std::vector<std::string>& paths,
                     std::string type) {
  http::HttpResponse out{.status = 200, .type = std::move(type), .body = {}};
  out.file = std::make_shared<http::FileBody>(run.path, paths);
  return {std::move(out)};
}

}  // namespace

HttpReply answer_log_file(const Api& api, const ApiRequest& request) {
  const store::OpenRun run = api.open_run(request.run);
  const int64_t rank = request.number("rank", 0);
  const store::RunLogs logs(run.ref, {.rank = rank, .attempt = request.number("attempt", -1, -1)});
  const std::vector<std::string> paths = logs.paths();
  if (!paths.empty()) return file_reply(run.ref, paths, http::kTextType);
  throw Error(Code::kNotFound, cat("the run '", run.ref.name, "' has no such log of rank ", rank));
}

HttpReply answer_traces(const Api& api, const ApiRequest& request) {
  const store::OpenRun run = api.open_run(request.run);
  List rows;
  for (const Trace& trace : traces_of(run.ref)) {
    rows.push_back(
        Map{{"name", trace.name}, {"bytes", trace.bytes}, {"time", time_text(trace.time_ms)}});
  }
  return json_reply(page_of("traces", std::move(rows), PageChoice(request)));
}

HttpReply answer_trace_file(const Api& api, const ApiRequest& request) {
  const store::OpenRun run = api.open_run(request.run);
  const std::string name = request.text("name");
  const std::vector<Trace> traces = traces_of(run.ref);
  const auto found = std::find_if(traces.begin(), traces.end(),
                                  [&](const Trace& trace) { return trace.name == name; });
  if (found == traces.end()) {
    throw Error(Code::kNotFound,
                cat("the run '", run.ref.name, "' has no trace '", name, "': /traces lists them"));
  }
  HttpReply out = file_reply(run.ref, {cat(traces_folder(run.ref), "/", found->name)},
                             "application/octet-stream");
  out.response.headers.emplace_back("Content-Disposition",
                                    cat("attachment; filename=\"", found->name, "\""));
  return out;
}

}  // namespace rtrain::dash
