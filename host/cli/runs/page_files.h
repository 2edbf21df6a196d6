// host/cli/runs/page_files.h: the pages inside the executable, for the dashboard.
// Their scripts are one file.
#pragma once

#include <vector>

#include "host/dash/dashboard.h"

namespace rtrain::cli {

std::vector<dash::PageFile> page_files();

}  // namespace rtrain::cli
