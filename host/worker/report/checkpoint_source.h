// host/worker/report/checkpoint_source.h: which folders may be reported as a checkpoint, and how.
//
// Any thread. Errors name the folder and the run's folder.
#pragma once

#include <string>

namespace rtrain::worker {

// Throws kCheckpoint when there is no folder with this name.
void check_is_folder(const std::string& folder);

// Returns the folder's real path when it may become a checkpoint without a copy: it is inside the
// run's folder, and is neither one of rtrain's own folders nor a committed checkpoint. Otherwise
// throws kArgument; `who` begins the message.
std::string folder_inside_run(const std::string& folder, const std::string& run_path,
                              const std::string& who);

// Throws kArgument when deleting the folder would delete files of the run.
void check_deletable(const std::string& folder, const std::string& run_path);

}  // namespace rtrain::worker
