// host/machine/libraries/nccl_settings.h: the environment variables of NCCL and of LibTorch's
// process groups with it: rtrain sets those that the user has not set.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rtrain::machine {

struct NcclSetting {
  std::string name;
  std::string value;
  std::string set_by;  // "rtrain" or "environment"
  std::string why;     // the reason for rtrain's value; else empty
};

// Returns the variables that rtrain sets, in its order, then the environment's other variables for
// NCCL, by name. Pure.
std::vector<NcclSetting> nccl_settings(
    const std::vector<std::pair<std::string, std::string>>& environment);

// Returns those of this process.
std::vector<NcclSetting> nccl_settings();

// Sets rtrain's values in this process. Call it before LibTorch's CUDA library is loaded.
void apply_nccl_settings();

}  // namespace rtrain::machine
