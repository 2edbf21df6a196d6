// host/worker/report/checkpoint_source.h: which folders may be reported as a checkpoint, and how.
//
// Any thread. Errors name the folder and the run's folder.
#pragma once

#include <string>

namespace rtrain::worker {

// Throws kCheckpoint when there is no folder of that name.
void check_is_folder(const std::string& folder);

// The folder's real path when it may be taken from where it lies: inside the run's folder, but
// neither one of rtrain's own there nor a committed checkpoint. Else throws kArgument; `who` begins
// the message.
std::string folder_inside_run(const std::string& folder, const std::string& run_path,
                              const std::string& who);

// Throws kArgument when deleting the folder would take files of the run with it.
void check_deletable(const std::string& folder, const std::string& run_path);

}  // namespace rtrain::worker
