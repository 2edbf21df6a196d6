// host/base/files/store_access.h: who may open what rtrain keeps of runs.
//
// The user alone (0600, 0700). Below a folder that is shared with a group (setgid, and writable for
// the group) that group as well (0660, 2770). The umask does not count: such a folder was made for
// sharing, any other was not.
#pragma once

#include <string>

namespace rtrain {

// As open(2) with O_CLOEXEC and mkdir(2), errno included. What they make has those permissions; a
// file of the user's that O_CREAT finds gets them. O_CREAT follows no symlink (ELOOP).
int open_in_store(const std::string& path, int flags);
int make_folder_in_store(const std::string& path);

// Gives a file or folder that is there already the permissions of a new one. An executable file
// stays one. Nothing when it belongs to another user, or has another name somewhere else.
void set_store_access(const std::string& path);

}  // namespace rtrain
