#include "host/decide/checkpoints/commit_plan.h"

#include <array>

namespace rtrain::decide {
namespace {

constexpr std::array kSteps = {
    CommitStep::kMerge,    CommitStep::kWriteManifest, CommitStep::kSyncTree,
    CommitStep::kRename,   CommitStep::kSyncParents,   CommitStep::kClearStaging,
    CommitStep::kWriteRow, CommitStep::kAnswer,        CommitStep::kDrop,
};

}  // namespace

std::optional<CommitStep> next_step(CommitStep done, bool is_named) {
  if (!is_named) return CommitStep::kWriteManifest;
  for (size_t i = 0; i + 1 < kSteps.size(); ++i) {
    if (kSteps.at(i) == done) return kSteps.at(i + 1);
  }
  return std::nullopt;
}

NameChoice choose_name(const std::optional<NamedFolder>& there, int64_t attempt) {
  if (!there) return NameChoice::kRename;
  if (there->has_manifest && there->attempt >= attempt) return NameChoice::kRefuse;
  if (there->is_held) return NameChoice::kOther;
  return there->has_manifest ? NameChoice::kExchange : NameChoice::kSetAside;
}

}  // namespace rtrain::decide
