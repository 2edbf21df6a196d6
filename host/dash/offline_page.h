// host/dash/offline_page.h: the pages and what they show of some runs as one HTML file, which needs
// no server and asks no network.
//
// The file has the scripts of web/, and under the text of each request that they would make its
// answer (web/stored.js finds it). It is bounded: curves in parts, logs' last lines, media up to a
// number of bytes. No text of a run can become markup or script: texts are JSON without "<", in an
// element that is not run, and a script that runs has to have a number that was not known before.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <vector>

#include "host/dash/api.h"
#include "host/dash/dashboard.h"

namespace rtrain::dash {

struct OfflineLimits {
  size_t parts = 800;                     // of a curve of rank 0
  size_t parts_of_others = 100;           // of one of another rank
  size_t curves = 200;                    // of a rank
  int64_t ranks = 8;                      // whose curves and memory are there
  size_t lines = 300;                     // of a rank's output: the last ones
  size_t media_bytes = size_t{32} << 20;  // of all runs: the last steps first
  size_t compared = 12;  // runs; of more, none has its code compared with another's
};

// Parts that it lacks.
struct OfflineOmissions {
  size_t curves = 0;
  size_t media = 0;
};

// The runs are those of the API's store; the pages those of the dashboard.
OfflineOmissions write_offline_page(std::ostream& out, const Api& api,
                                    const std::vector<store::RunRef>& runs,
                                    const std::vector<PageFile>& pages,
                                    const OfflineLimits& limits = {});

}  // namespace rtrain::dash
