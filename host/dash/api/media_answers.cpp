#include "host/dash/api/media_answers.h"

#include <algorithm>

#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/dash/api/paging.h"
#include "host/store/runs/media_store.h"

namespace rtrain::dash {
namespace {

// A text of a run is always plain text for the browser, never HTML.
const char* type_of(std::string_view kind) {
  if (kind == "image" || kind == "video") return "image/png";
  if (kind == "audio") return "audio/wav";
  return kind == "text" ? http::kTextType : http::kJsonType;
}

constexpr size_t kMostHistograms = 150;

// Returns the histograms with that name of the rank, by step; of a step the last one.
std::vector<store::MediaRow> histograms_of(std::vector<store::MediaRow> rows,
                                           const std::string& name, int64_t rank) {
  std::vector<store::MediaRow> out;
  for (store::MediaRow& row : rows) {
    if (row.kind != "histogram" || row.name != name || row.rank != rank) continue;
    if (!out.empty() && out.back().step == row.step) out.pop_back();
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace

HttpReply answer_media(const Api& api, const ApiRequest& request) {
  const PageChoice page(request);
  store::OpenRun run = api.open_run(request.run);
  const auto name = request.request.query.find("name");
  List rows;
  for (const store::MediaRow& row : store::read_media(run.store.database(), run.ref.run_id)) {
    if (!name || row.name == *name) rows.push_back(store::describe_media(row));
  }
  return json_reply(page_of("media", std::move(rows), page));
}

HttpReply answer_media_content(const Api& api, const ApiRequest& request) {
  const std::string hash = request.text("hash");
  if (hash.empty()) throw Error(Code::kUsage, "hash: which content? /media lists them");
  store::OpenRun run = api.open_run(request.run);
  const std::vector<store::MediaRow> rows = store::read_media(run.store.database(), run.ref.run_id);
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const store::MediaRow& each) { return each.hash == hash; });
  if (row == rows.end()) {
    throw Error(Code::kNotFound,
                cat("the run '", run.ref.name, "' has no content with the hash ", hash));
  }
  return {http::HttpResponse{
      .status = 200,
      .type = type_of(row->kind),
      .body = store::read_media_content(run.store.database(), run.ref.run_id, hash),
      .has_parts = row->kind == "audio"}};  // a player asks for the part that it goes to
}

HttpReply answer_histograms(const Api& api, const ApiRequest& request) {
  const std::string name = request.text("name");
  if (name.empty()) throw Error(Code::kUsage, "name: of which histograms? /media lists them");
  store::OpenRun run = api.open_run(request.run);
  const std::vector<store::MediaRow> rows = histograms_of(
      store::read_media(run.store.database(), run.ref.run_id), name, request.number("rank", 0));
  const size_t count = std::min(rows.size(), kMostHistograms);
  List histograms;
  for (size_t i = 0; i < count; ++i) {
    const store::MediaRow& row = rows[i == 0 ? 0 : i * (rows.size() - 1) / (count - 1)];
    Value histogram =
        from_json(store::read_media_content(run.store.database(), run.ref.run_id, row.hash));
    histogram.as_map().set("step", row.step);
    histograms.push_back(std::move(histogram));
  }
  return json_reply(
      Map{{"histograms", std::move(histograms)}, {"total", static_cast<int64_t>(rows.size())}});
}

}  // namespace rtrain::dash
