// host/cli/runs/import_events.h: imports runs from TensorBoard's event files.
#pragma once

#include <string>
#include <vector>

#include "host/store/import/imported_run.h"

namespace rtrain::cli {

// `path`: an event file, or a folder. Each folder below it with event files is a run, named by its
// relative path; `name` (default: the name of the file or folder) is the name for the folder
// itself. Each step is a report, with a metric for each tag that has a scalar there. If a tag
// occurs twice at a step, the value written last is used, because a training resumed from a
// checkpoint writes it again. Warns on stderr if a file's last record is incomplete. Throws
// Error(kUsage) if there are no scalars and for a damaged file, kEnvironment for one that cannot be
// read.
std::vector<store::ImportedRun> read_imported_events(const std::string& path,
                                                     const std::string& name);

}  // namespace rtrain::cli
