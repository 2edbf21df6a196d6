// host/decide/checkpoints/retention.h: which checkpoints of a run are deleted. The rules are Ray's;
// a missing or NaN score is always the worst.
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
  std::optional<int64_t> num_to_keep;  // nullopt: keep all
  std::string score_attribute;         // empty: a newer checkpoint is better
  bool maximize = true;

  // Reads {num_to_keep, checkpoint_score_attribute, checkpoint_score_order}; nil: the defaults.
  static RetentionPolicy from_value(const Value& checkpoint_config);
};

// The score of a checkpoint with these metrics: larger is better. Nullopt where the metrics have no
// such number. Without a score attribute all scores are equal.
std::optional<double> score_of(const RetentionPolicy& policy, const Value& metrics);

// The positions of the checkpoints, the best first. `metrics` has them in the order of
// registration. Of equal scores the newer one is better. The attribute is a key of the metrics, or
// a path of nested keys joined by "/".
std::vector<size_t> rank_checkpoints(const RetentionPolicy& policy, std::span<const Value> metrics);

// The positions to delete, ascending: all but the best num_to_keep, the last one and the pinned
// ones, whose validation may still make them the best.
std::vector<size_t> checkpoints_to_drop(const RetentionPolicy& policy,
                                        std::span<const Value> metrics,
                                        const std::set<size_t>& pinned = {});

// Throws kArgument when the score in these metrics is not a number.
void check_score(const RetentionPolicy& policy, const Value& metrics);
// "its metrics have no 'acc' …" with the keys that they have. Empty when there is a score, or no
// score attribute.
std::string missing_score(const RetentionPolicy& policy, const Value& metrics);

}  // namespace rtrain::decide
