#include "host/store/read/run_resolver.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "host/base/error.h"
#include "host/base/files/inner_file.h"
#include "host/base/text/text.h"
#include "host/store/claim/run_name.h"
#include "host/store/read/listing_columns.h"
#include "host/store/read/run_listing.h"

namespace rtrain::store {
namespace {

const std::string kLast = "last";

// Number of names in an error message.
constexpr size_t kShown = 8;

// The part after `best:`.
struct Best {
  std::string metric;
  std::string order;  // "min", "max" or ""
};

Best parse_best(std::string_view text) {
  text.remove_prefix(kBestOf.size());
  Best best{.metric = std::string(text), .order = {}};
  for (const std::string_view order : {"min", "max"}) {
    const std::string end = cat(":", order);
    if (!text.ends_with(end)) continue;
    best = {.metric = std::string(text.substr(0, text.size() - end.size())),
            .order = std::string(order)};
  }
  if (best.metric.empty()) {
    throw usage_error(
        "best: names no metric: write best:METRIC, best:METRIC:min or best:METRIC:max");
  }
  return best;
}

class Resolver {
 public:
  Resolver(Database& database, const std::string& storage_path)
      : database_(database), storage_path_(storage_path) {}

  RunRef find(const std::string& run) {
    RunRef found = meant(run);
    const std::string problem = run_name_problem(found.name);
    if (problem.empty() && is_inner_name(found.run_id)) return found;
    throw Error(Code::kEnvironment,
                cat("the store ", storage_path_, " has a run '", found.name, "' with the id '",
                    found.run_id, "', which is not the name of a run's folder",
                    problem.empty() ? "" : cat(" (", problem, ")"),
                    ": another program has written it, and nothing is done with it"));
  }

 private:
  RunRef meant(const std::string& run) {
    if (auto ref = one("name = ?", {run})) return *ref;
    if (auto ref = one("run_id = ?", {run})) return *ref;
    if (run == kLast) return last();
    if (run.starts_with(kBestOf)) return best(parse_best(run));
    if (run.empty()) throw usage_error("the name of the run is empty");
    return beginning(run);
  }

  std::vector<RunRef> all(std::string_view condition, const std::vector<std::string>& parameters) {
    Statement query = database_.prepare(cat("SELECT run_id, name FROM runs WHERE ", condition));
    for (const std::string& each : parameters) query.add(each);
    std::vector<RunRef> out;
    while (query.next()) {
      const std::string name = query.text(1);
      out.push_back({query.text(0), name, cat(storage_path_, "/", name)});
    }
    return out;
  }

  std::optional<RunRef> one(std::string_view condition,
                            const std::vector<std::string>& parameters) {
    std::vector<RunRef> found = all(cat(condition, " LIMIT 1"), parameters);
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
  }

  std::optional<RunRef> first(const RunFilter& filter) {
    const std::vector<std::string> ids = RunListing(database_).ids(filter);
    if (ids.empty()) return std::nullopt;
    return one("run_id = ?", {ids.front()});
  }

  RunRef last() {
    if (auto ref = first({.where = {}, .sort = {}, .limit = 1})) return *ref;
    const bool any = one("1", {}).has_value();
    throw usage_error(cat("there is no last run in ", storage_path_,
                          any ? ": all are archived" : ": it has no runs"));
  }

  RunRef beginning(const std::string& run) {
    const std::vector<RunRef> matches =
        all("substr(name, 1, length(?)) = ? OR substr(run_id, 1, length(?)) = ? "
            "ORDER BY started_at DESC, name",
            {run, run, run, run});
    if (matches.size() == 1) return matches.front();
    if (matches.empty()) {
      std::vector<std::string> known = names();
      if (nearest_name(run, std::vector{kLast})) known.push_back(kLast);
      throw usage_error(cat("no run '", run, "' in ", storage_path_, suggestion(run, known)));
    }
    std::vector<std::string> shown;
    for (size_t i = 0; i < std::min(matches.size(), kShown); ++i) shown.push_back(matches[i].name);
    const size_t more = matches.size() - shown.size();
    throw usage_error(cat("'", run, "' is the beginning of ", matches.size(),
                          " runs: ", join(shown, ", "),
                          more > 0 ? cat(" and ", more, " more") : std::string()));
  }

  std::vector<std::string> names() {
    std::vector<std::string> out;
    for (RunRef& ref : all("1 ORDER BY started_at DESC, name", {})) {
      out.push_back(std::move(ref.name));
    }
    return out;
  }

  // Throws for a misspelt order, such as best:loss:mni.
  static void check_order(const std::string& metric, ListingColumns& columns) {
    const size_t colon = metric.rfind(':');
    if (colon == std::string::npos || !columns.find(metric.substr(0, colon))) return;
    const std::vector<std::string> orders{"min", "max"};
    const std::string given = metric.substr(colon + 1);
    throw usage_error(
        cat("best:", metric, ": unknown order '", given, "'", suggestion(given, orders)));
  }

  RunRef best(const Best& wanted) {
    ListingColumns columns(database_);
    const auto column = columns.find(wanted.metric);
    if (!column) {
      check_order(wanted.metric, columns);
      throw usage_error(cat("best:", wanted.metric, ": no run in ", storage_path_,
                            " has reported '", wanted.metric, "'",
                            suggestion(wanted.metric, columns.metric_names())));
    }
    const std::string order = wanted.order.empty() ? order_of(wanted.metric) : wanted.order;
    const std::string name = in_quotes(wanted.metric, '"');
    if (auto ref = first({.where = cat("typeof(", name, ") IN ('integer', 'real')"),
                          .sort = cat(order == "max" ? "-" : "", wanted.metric),
                          .limit = 1})) {
      return *ref;
    }
    throw usage_error(cat("best:", wanted.metric, ": no run has a number there"));
  }

  // The checkpoint_score_order of the runs that rank their checkpoints by that metric.
  std::string order_of(const std::string& metric) {
    Statement query = database_.prepare(
        "SELECT DISTINCT coalesce(json_extract(checkpoint_config, '$.checkpoint_score_order'), "
        "'max') FROM runs WHERE json_extract(checkpoint_config, '$.checkpoint_score_attribute') = "
        "?");
    query.add(metric);
    std::vector<std::string> orders;
    while (query.next()) orders.push_back(query.text(0));
    if (orders.size() == 1) return orders.front();
    const std::string reason =
        orders.empty()
            ? cat("no run's CheckpointConfig has checkpoint_score_attribute = '", metric, "'")
            : "the runs' checkpoint_score_order differs";
    throw usage_error(cat("best:", metric, ": smallest or largest? Write best:", metric,
                          ":min or best:", metric, ":max (", reason, ")"));
  }

  Database& database_;
  const std::string& storage_path_;
};

}  // namespace

RunRef resolve_run(Database& database, const std::string& storage_path, const std::string& run) {
  return Resolver(database, storage_path).find(run);
}

}  // namespace rtrain::store
