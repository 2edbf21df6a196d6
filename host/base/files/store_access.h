// host/base/files/store_access.h: permissions of the files and folders that rtrain keeps for runs.
//
// Only the user has access (0600, 0700). Below a folder shared with a group (setgid and
// group-writable) that group has access too (0660, 2770). The umask is ignored, because a shared
// folder was created for sharing and others were not.
#pragma once

#include <string>

namespace rtrain {

// Like open(2) with O_CLOEXEC and mkdir(2), including errno. New entries get those permissions, as
// does an existing file of the user's that is opened with O_CREAT. O_CREAT follows no symlink
// (ELOOP).
int open_in_store(const std::string& path, int flags);
int make_folder_in_store(const std::string& path);

// Gives an existing file or folder the permissions of a new one; an executable file stays
// executable. Does nothing if it belongs to another user or has a second hard link.
void set_store_access(const std::string& path);

}  // namespace rtrain
