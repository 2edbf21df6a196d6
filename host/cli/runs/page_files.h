// host/cli/runs/page_files.h: the pages that are inside the executable, as the dashboard takes
// them.
#pragma once

#include <vector>

#include "host/dash/dashboard.h"

namespace rtrain {

std::vector<PageFile> page_files();

}  // namespace rtrain
