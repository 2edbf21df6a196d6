#include "host/store/read/best_run.h"

#include <set>
#include <utility>

#include "host/decide/checkpoints/retention.h"
#include "host/store/db/row_values.h"

namespace rtrain::store {
namespace {

using Objective = std::pair<std::string, bool>;  // a metric, whether its largest value is the best

std::set<Objective> objectives_of(Database& database, const List& runs) {
  Statement query = database.prepare("SELECT checkpoint_config FROM runs WHERE run_id = ?");
  std::set<Objective> out;
  for (const Value& run : runs) {
    query.add(run["run_id"].as_string());
    if (query.next()) {
      const auto policy = decide::RetentionPolicy::from_value(json_value(query.text(0)));
      if (!policy.score_attribute.empty()) out.emplace(policy.score_attribute, policy.maximize);
    }
    query.reset();
  }
  return out;
}

std::optional<BestRun> best_by(const Objective& objective, const List& runs) {
  const auto& [metric, is_largest] = objective;
  const decide::RetentionPolicy policy{
      .num_to_keep = {}, .score_attribute = metric, .maximize = is_largest};
  std::optional<double> best;
  size_t position = 0;
  size_t count = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    const std::optional<double> score = decide::score_of(policy, runs[i]["metrics"]);
    if (score) ++count;
    if (score <= best) continue;
    best = score;
    position = i;
  }
  if (count < 2) return std::nullopt;
  return BestRun{.position = position, .metric = metric, .is_largest = is_largest};
}

// The objective for a metric: the mode in the runs' CheckpointConfig, else the direction of the
// sort.
Objective objective_of(const std::string& sort, const std::set<Objective>& said) {
  const bool descends = sort.front() == '-';
  const std::string metric = sort.substr(descends ? 1 : 0);
  const bool is_max = said.contains({metric, true});
  const bool is_min = said.contains({metric, false});
  return {metric, is_max == is_min ? descends : is_max};
}

}  // namespace

std::optional<BestRun> best_run(Database& database, const std::string& sort, const List& runs) {
  if (runs.size() < 2) return std::nullopt;
  const std::set<Objective> said = objectives_of(database, runs);
  if (!sort.empty()) {
    if (auto best = best_by(objective_of(sort, said), runs)) return best;
  }
  return said.size() == 1 ? best_by(*said.begin(), runs) : std::nullopt;
}

}  // namespace rtrain::store
