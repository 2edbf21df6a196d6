// host/store/files/folder_copy.h: folders outside a run: copies, what a user wants to have, and
// temporary ones.
#pragma once

#include <string>

namespace rtrain {

// Copies the folder's contents into the target, made where missing; files that are there are
// replaced, symlinks copied as links. A target that was missing appears as a whole. Throws
// Error(kEnvironment) naming the paths.
void copy_tree(const std::string& from, const std::string& to);

// Makes the folder and its missing parents as any program of the user's does: by the umask.
void make_user_folders(const std::string& path);

// Makes a new empty folder `<prefix><random>` below $TMPDIR (or /tmp) that only the user may enter;
// absolute.
std::string make_temp_folder(const std::string& prefix);

}  // namespace rtrain
