#include "host/dash/api/list_answers.h"

#include <utility>
#include <vector>

#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/dash/api/paging.h"
#include "host/store/read/curves/curve_points.h"
#include "host/store/read/listing_columns.h"
#include "host/store/read/run_document.h"
#include "host/store/read/run_groups.h"
#include "host/store/read/run_listing.h"

namespace rtrain::dash {
namespace {

constexpr size_t kSparkParts = 60;
constexpr size_t kMostProblems = 20;
// The runs whose configs are searched for names.
constexpr int64_t kNewestConfigs = 1000;

// Enough for over 10,000 runs. A filter without end would keep a thread of the dashboard busy.
constexpr double kFilterLimitS = 5;

std::vector<std::pair<std::string, Value>> values_of(const ApiRequest& request) {
  const std::vector<std::string> keys = request.request.query.all("key");
  const std::vector<std::string> values = request.request.query.all("value");
  if (values.size() > keys.size()) {
    throw Error(Code::kUsage, "value: without the key that must have it");
  }
  std::vector<std::pair<std::string, Value>> out;
  for (size_t i = 0; i < values.size(); ++i) {
    Value value = from_json(values[i]);
    if (!value.is_nil() && !value.is_number() && !value.is_string()) {
      throw Error(Code::kUsage, cat("value: ", values[i], " is not a number, a string or null"));
    }
    out.emplace_back(keys[i], std::move(value));
  }
  return out;
}

store::RunFilter filter_of(const ApiRequest& request) {
  const http::HttpQuery& query = request.request.query;
  return {.where = request.text("where"),
          .sort = request.text("sort"),
          .tags = query.all("tag"),
          .archived = request.flag("archived"),
          .time_limit_s = kFilterLimitS,
          .statuses = query.all("status"),
          .text = request.text("text"),
          .values = values_of(request)};
}

// Returns means of a metric of rank 0, few enough for a small picture in a table's row.
List spark_of(const Api& api, store::Database& database, const std::string& run_id,
              const std::string& name) {
  List out;
  for (const store::SeriesSummary& column : store::curve_columns(
           database, api.report_charts(), run_id, name, 0, {.columns = kSparkParts})) {
    if (column.finite() == 0) {
      out.emplace_back(nullptr);
    } else {
      out.emplace_back(column.sum / static_cast<double>(column.finite()));
    }
  }
  return out;
}

// Returns [{name, problem}] of runs whose rows in the object store cannot be read, up to a number.
List problems_of(const Api& api) {
  List out;
  for (const auto& [run, problem] : api.problems()) {
    if (out.size() == kMostProblems) break;
    out.emplace_back(Map{{"name", run}, {"problem", problem}});
  }
  return out;
}

Map page_of_runs(const Api& api, store::Database& database, const ApiRequest& request,
                 const PageChoice& page) {
  store::RunFilter filter = filter_of(request);
  store::RunListing listing(database);
  const int64_t total = listing.count(filter);
  filter.limit = page.limit;
  filter.offset = page.offset;
  List rows = listing.rows(filter);
  const std::string spark = request.text("spark");
  const bool has_config = request.flag("config");
  for (Value& row : rows) {
    const std::string run_id = row["run_id"].as_string();
    if (!spark.empty()) row.as_map().set("spark", spark_of(api, database, run_id, spark));
    if (has_config) row.as_map().set("config", store::read_config(database, run_id));
  }
  if (const auto columns = request.request.query.all("column"); !columns.empty()) {
    List ids;
    for (const Value& row : rows) ids.push_back(row["run_id"]);
    List cells = listing.cells(ids, columns);
    for (size_t i = 0; i < rows.size(); ++i) rows[i].as_map().set("cells", std::move(cells[i]));
  }
  return page_with("runs", std::move(rows), total, page);
}

List list_of(std::vector<std::string> names) {
  return {std::make_move_iterator(names.begin()), std::make_move_iterator(names.end())};
}

}  // namespace

HttpReply answer_runs(const Api& api, const ApiRequest& request) {
  const PageChoice page(request);
  auto store = api.open_store();
  Map out = store ? page_of_runs(api, store->database(), request, page) : page_of("runs", {}, page);
  out.set("problems", problems_of(api));
  return json_reply(std::move(out));
}

HttpReply answer_tags(const Api& api, const ApiRequest& request) {
  auto store = api.open_store();
  List tags = store ? store::RunListing(store->database()).tags() : List();
  return json_reply(page_of("tags", std::move(tags), PageChoice(request)));
}

HttpReply answer_groups(const Api& api, const ApiRequest& request) {
  const PageChoice page(request);
  auto store = api.open_store();
  if (!store) return json_reply(page_of("groups", {}, page));
  store::RunListing listing(store->database());
  return json_reply(page_of("groups",
                            store::run_groups(listing, filter_of(request),
                                              {.keys = request.request.query.all("key"),
                                               .columns = request.request.query.all("column"),
                                               .sort = request.text("sort")}),
                            page));
}

HttpReply answer_columns(const Api& api, const ApiRequest&) {
  List reported;
  List config;
  List logged;
  if (auto store = api.open_store()) {
    store::ListingColumns columns(store->database());
    reported = list_of(columns.metric_names());
    config = list_of(columns.config_names(kNewestConfigs));
    logged = list_of(store::logged_names(store->database()));
  }
  return json_reply(Map{{"own", list_of(store::ListingColumns::own_names())},
                        {"reported", std::move(reported)},
                        {"logged", std::move(logged)},
                        {"config", std::move(config)}});
}

}  // namespace rtrain::dash
