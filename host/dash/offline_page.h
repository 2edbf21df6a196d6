// host/dash/offline_page.h: writes the pages and their data for some runs as one HTML file, which
// needs neither a server nor a network.
//
// The file has the scripts of web/, and an answer for each request that they would make, under that
// request's text (web/server/stored.js finds it). Its size is bounded: curves in parts, last lines
// of logs, media up to a number of bytes. No text of a run can become markup or a script: texts are
// JSON without "<", in an element that the browser does not run, and a script runs only with a
// nonce, which no text of a run can contain.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <vector>

#include "host/dash/api/api.h"
#include "host/dash/dashboard.h"

namespace rtrain::dash {

struct OfflineLimits {
  size_t parts = 800;                     // of each curve of rank 0
  size_t parts_of_others = 100;           // of each curve of another rank
  size_t curves = 200;                    // of each rank
  int64_t ranks = 8;                      // with curves and memory
  size_t lines = 300;                     // the last lines of a rank's output
  size_t media_bytes = size_t{32} << 20;  // of all runs; the last steps come first
  size_t compared = 12;  // the most runs whose code is compared with that of the others
};

// Data that the page leaves out.
struct OfflineOmissions {
  size_t curves = 0;
  size_t media = 0;
};

// The runs are in the API's store, and the pages are the dashboard's.
OfflineOmissions write_offline_page(std::ostream& out, const Api& api,
                                    const std::vector<store::RunRef>& runs,
                                    const std::vector<PageFile>& pages,
                                    const OfflineLimits& limits = {});

}  // namespace rtrain::dash
