#include "host/dash/api/profile_answers.h"

#include <utility>

#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/plot/flame_graph.h"
#include "host/profile/memory_report.h"
#include "host/profile/sampled_stacks.h"
#include "host/store/files/file.h"

namespace rtrain::dash {
namespace {

struct Found {
  std::string file;
  Value document;
};

// Finds the rank's newest file with that ending, by the names of the files; nil without one.
Found newest(const store::RunRef& run, int64_t rank, std::string_view kind) {
  const std::string ending = cat("-rank", rank, kind);
  const std::string folder = run.path + "/profiles";
  Found out;
  if (store::is_symlink(folder)) return out;  // the target of a link is not the run's
  for (const std::string& name : store::folder_entries(folder)) {
    if (name.ends_with(ending)) out.file = name;
  }
  if (out.file.empty()) return out;
  out.document = from_json(store::read_text_beneath(run.path, cat(folder, "/", out.file)));
  return out;
}

profile::SampledStacks stacks_of(const Found& found) {
  try {
    return profile::from_speedscope(found.document);
  } catch (const Error& e) {
    throw Error(Code::kEnvironment, cat(found.file, ": ", e.message()));
  }
}

Found newest_stacks(const store::RunRef& run, const ApiRequest& request) {
  return newest(run, request.number("rank", 0), profile::kSamplesEnding);
}

Value describe_flame(const Found& found) {
  if (found.file.empty()) return {};
  const profile::SampledStacks stacks = stacks_of(found);
  List boxes;
  for (const plot::FlameBox& box : plot::flame_boxes(stacks)) {
    boxes.push_back(Map{{"name", box.name},
                        {"depth", int64_t{box.depth}},
                        {"begin", box.begin},
                        {"width", box.width},
                        {"seconds", box.seconds},
                        {"colour", box.colour}});
  }
  return Map{{"file", found.file},
             {"title", stacks.name},
             {"seconds", stacks.seconds()},
             {"boxes", std::move(boxes)}};
}

}  // namespace

HttpReply answer_memory(const Api& api, const ApiRequest& request) {
  const store::OpenRun run = api.open_run(request.run);
  const int64_t rank = request.number("rank", 0);
  return json_reply(Map{{"name", run.ref.name},
                        {"run_id", run.ref.run_id},
                        {"profile", newest(run.ref, rank, profile::kMemoryReportEnding).document}});
}

HttpReply answer_flame(const Api& api, const ApiRequest& request) {
  const store::OpenRun run = api.open_run(request.run);
  return json_reply(Map{{"name", run.ref.name},
                        {"run_id", run.ref.run_id},
                        {"flame", describe_flame(newest_stacks(run.ref, request))}});
}

HttpReply answer_flame_file(const Api& api, const ApiRequest& request) {
  const store::OpenRun run = api.open_run(request.run);
  const Found found = newest_stacks(run.ref, request);
  if (found.file.empty()) {
    throw Error(Code::kNotFound, cat("the run '", run.ref.name, "' has no samples of rank ",
                                     request.number("rank", 0), ": rtrain profile --flame"));
  }
  const profile::SampledStacks stacks = stacks_of(found);
  http::HttpResponse out{
      .status = 200,
      .type = "application/octet-stream",
      .body = plot::svg_flame_graph(stacks, cat(run.ref.name, ", ", stacks.name))};
  out.headers.emplace_back("Content-Disposition", "attachment; filename=\"flame.svg\"");
  return {std::move(out)};
}

}  // namespace rtrain::dash
