// host/cuda/groups.h: process groups over NCCL.
#pragma once

#include "host/engine/cuda/groups_api.h"

namespace rtrain::cuda {

engine::CudaGroupsApi cuda_groups_api();

}  // namespace rtrain::cuda
