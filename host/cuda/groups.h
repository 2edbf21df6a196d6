// host/cuda/groups.h: process groups over NCCL.
#pragma once

#include "host/engine/cuda/groups_api.h"

namespace rtrain {

CudaGroupsApi cuda_groups_api();

}  // namespace rtrain
