#include "host/decide/checkpoints/retention.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "host/base/codec/metric_path.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::decide {
std::optional<double> score_of(const RetentionPolicy& policy, const Value& metrics) {
  if (policy.score_attribute.empty()) return 0.0;
  const Value* found = find_metric(metrics, policy.score_attribute);
  if (found == nullptr || !found->is_number() || std::isnan(found->as_float())) return std::nullopt;
  return policy.maximize ? found->as_float() : -found->as_float();
}

RetentionPolicy RetentionPolicy::from_value(const Value& checkpoint_config) {
  RetentionPolicy policy;
  if (checkpoint_config.is_nil()) return policy;
  const Value& count = checkpoint_config["num_to_keep"];
  if (!count.is_nil()) policy.num_to_keep = count.as_int();
  policy.score_attribute = checkpoint_config["checkpoint_score_attribute"].string_or("");
  policy.maximize = checkpoint_config["checkpoint_score_order"].string_or("max") != "min";
  return policy;
}

std::vector<size_t> rank_checkpoints(const RetentionPolicy& policy,
                                     std::span<const Value> metrics) {
  std::vector<std::optional<double>> scores;
  for (const Value& of_one : metrics) scores.push_back(score_of(policy, of_one));
  std::vector<size_t> order(metrics.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&scores](size_t a, size_t b) {
    return std::tuple(scores[a], a) > std::tuple(scores[b], b);
  });
  return order;
}

std::vector<size_t> checkpoints_to_drop(const RetentionPolicy& policy,
                                        std::span<const Value> metrics,
                                        const std::set<size_t>& pinned) {
  if (!policy.num_to_keep) return {};
  const auto keep = static_cast<size_t>(std::max<int64_t>(*policy.num_to_keep, 0));
  std::vector<size_t> drop;
  const std::vector<size_t> order = rank_checkpoints(policy, metrics);
  for (size_t place = keep; place < order.size(); ++place) {
    const bool is_latest = order[place] + 1 == metrics.size();
    if (!is_latest && !pinned.contains(order[place])) drop.push_back(order[place]);
  }
  std::sort(drop.begin(), drop.end());
  return drop;
}

void check_score(const RetentionPolicy& policy, const Value& metrics) {
  if (policy.score_attribute.empty()) return;
  const Value* found = find_metric(metrics, policy.score_attribute);
  if (found == nullptr || found->is_nil() || found->is_number()) return;
  throw Error(Code::kArgument,
              cat("checkpoint_score_attribute '", policy.score_attribute, "' is a ",
                  found->type_name(), " in the metrics of this checkpoint: report a number"));
}

std::string missing_score(const RetentionPolicy& policy, const Value& metrics) {
  if (policy.score_attribute.empty()) return {};
  const Value* found = find_metric(metrics, policy.score_attribute);
  if (found != nullptr && !found->is_nil()) return {};
  std::vector<std::string> keys;
  if (metrics.is_map()) {
    for (const auto& [key, value] : metrics.as_map()) {
      if (const auto* text = std::get_if<std::string>(&key)) keys.push_back(*text);
    }
  }
  return cat("its metrics have no '", policy.score_attribute,
             "' (checkpoint_score_attribute), so it ranks as the worst; they have ",
             keys.empty() ? std::string("no keys") : join(keys, ", "));
}

}  // namespace rtrain::decide
