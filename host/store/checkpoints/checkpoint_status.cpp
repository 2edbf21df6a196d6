#include "host/store/checkpoints/checkpoint_status.h"

#include <array>
#include <cstddef>

namespace rtrain::store {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"COMMITTED", "PENDING_VALIDATION", "VALIDATED",
                                                    "VALIDATION_FAILED", "VALIDATION_TIMEOUT"};

}  // namespace

std::string_view status_name(CheckpointStatus status) {
  return kNames.at(static_cast<size_t>(status));
}

std::optional<CheckpointStatus> status_from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames.at(i) == name) return static_cast<CheckpointStatus>(i);
  }
  return std::nullopt;
}

}  // namespace rtrain::store
