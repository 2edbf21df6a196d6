// host/store/checkpoints/checkpoint_status.h: the status of a reported checkpoint: Ray's
// ReportedCheckpointStatus.
#pragma once

#include <optional>
#include <string_view>

namespace rtrain::store {

enum class CheckpointStatus {
  kCommitted,  // no validation was requested
  kPendingValidation,
  kValidated,
  kValidationFailed,
  kValidationTimeout,
};

// "PENDING_VALIDATION"
std::string_view status_name(CheckpointStatus status);
std::optional<CheckpointStatus> status_from_name(std::string_view name);

}  // namespace rtrain::store
