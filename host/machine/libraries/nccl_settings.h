// host/machine/libraries/nccl_settings.h: the environment variables of NCCL and of LibTorch's
// groups over it: rtrain's choices where the user has made none.
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
  std::string why;     // of rtrain's; else empty
};

// rtrain's choices, in their order, then the other variables of that kind in the environment, by
// name. Pure.
std::vector<NcclSetting> nccl_settings(
    const std::vector<std::pair<std::string, std::string>>& environment);

// Of this process.
std::vector<NcclSetting> nccl_settings();

// Sets rtrain's choices in this process. Before LibTorch's CUDA library is loaded.
void apply_nccl_settings();

}  // namespace rtrain::machine
