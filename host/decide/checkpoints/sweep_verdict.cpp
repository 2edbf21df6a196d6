#include "host/decide/checkpoints/sweep_verdict.h"

namespace rtrain::decide {

SweepVerdict judge_folder(const std::optional<FoundManifest>& manifest, const FoundRows& rows) {
  const bool is_kept = rows.kept_attempt.has_value();
  const bool is_of_run = manifest && manifest->is_of_run;
  if (is_kept && !is_of_run) return SweepVerdict::kDamaged;
  if (!is_of_run) return manifest ? SweepVerdict::kForeign : SweepVerdict::kUnknown;
  if (is_kept && *rows.kept_attempt == manifest->attempt) return SweepVerdict::kKnown;
  if (rows.was_dropped) return SweepVerdict::kDropped;
  return rows.was_left_behind ? SweepVerdict::kLeftBehind : SweepVerdict::kUnrecorded;
}

}  // namespace rtrain::decide
