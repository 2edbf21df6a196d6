// host/decide/checkpoints/retention.h: which checkpoints are dropped (Ray's rules; a missing or NaN
// score is always the worst).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "host/base/value.h"

namespace rtrain::decide {

// CheckpointConfig as the store needs it.
struct RetentionPolicy {
  std::optional<int64_t> num_to_keep;  // nothing: keep all
  std::string score_attribute;         // empty: the newest are the best
  bool maximize = true;

  // From {num_to_keep, checkpoint_score_attribute, checkpoint_score_order}; nil gives the defaults.
  static RetentionPolicy from_value(const Value& checkpoint_config);
};

// The larger, the better; nothing where the metrics have no such number. Without an attribute all
// are equal.
std::optional<double> score_of(const RetentionPolicy& policy, const Value& metrics);

// Positions of the checkpoints, the best first. `metrics` is in the order of registration; of equal
// scores the newer is the better. The attribute is a key of the metrics, or a path of nested keys
// joined by "/".
std::vector<size_t> rank_checkpoints(const RetentionPolicy& policy, std::span<const Value> metrics);

// Positions to drop, ascending: all but the best num_to_keep, the last one and the pinned ones
// (their validation may make them the best).
std::vector<size_t> checkpoints_to_drop(const RetentionPolicy& policy,
                                        std::span<const Value> metrics,
                                        const std::set<size_t>& pinned = {});

// Throws kArgument when these metrics have a score that is not a number.
void check_score(const RetentionPolicy& policy, const Value& metrics);
// "the metrics have no 'acc' …" with the keys they do have; empty when there is a score, or none is
// wanted.
std::string missing_score(const RetentionPolicy& policy, const Value& metrics);

}  // namespace rtrain::decide
