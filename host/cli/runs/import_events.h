// host/cli/runs/import_events.h: runs out of the event files of TensorBoard.
#pragma once

#include <string>
#include <vector>

#include "host/store/import/imported_run.h"

namespace rtrain {

// `path`: an event file, or a folder, below which each folder with event files is a run, called by
// its place there; `name` (else the file's or folder's own) is that of the folder itself. A step is
// a report, with a metric for each tag that has a scalar there. Where a tag comes twice at a step,
// the value that was written last counts: a training that went on from a checkpoint wrote it again.
// Warns on stderr where a file's last record is not whole. Throws Error(kUsage) where there are no
// scalars and for a damaged file, kEnvironment for one that cannot be read.
std::vector<ImportedRun> read_imported_events(const std::string& path, const std::string& name);

}  // namespace rtrain
