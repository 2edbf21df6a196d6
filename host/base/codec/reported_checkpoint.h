// host/base/codec/reported_checkpoint.h: a committed checkpoint, as results, events and workers get
// it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "host/base/codec/record.h"
#include "host/base/value.h"

namespace rtrain {

// Ray's ReportedCheckpointStatus.
enum class CheckpointStatus {
  kCommitted,  // no validation was requested
  kPendingValidation,
  kValidated,
  kValidationFailed,
  kValidationTimeout,
};
template <>
inline constexpr std::array<std::string_view, 5> kNamesOf<CheckpointStatus>{
    "COMMITTED", "PENDING_VALIDATION", "VALIDATED", "VALIDATION_FAILED", "VALIDATION_TIMEOUT"};

// "PENDING_VALIDATION"
inline std::string_view status_name(CheckpointStatus status) {
  return kNamesOf<CheckpointStatus>.at(static_cast<size_t>(status));
}

struct ReportedCheckpoint {
  std::string path;  // of its folder
  std::string name;
  Value metrics;      // of its report and of its validation
  int64_t index = 0;  // of its report
  CheckpointStatus status = CheckpointStatus::kCommitted;

  static constexpr RecordFields kFields{required("path", &ReportedCheckpoint::path),
                                        required("name", &ReportedCheckpoint::name),
                                        required("metrics", &ReportedCheckpoint::metrics),
                                        required("index", &ReportedCheckpoint::index),
                                        required("status", &ReportedCheckpoint::status)};
};

}  // namespace rtrain
