// host/store/files/folder_copy.h: folders outside a run: copies, folders requested by users, and
// temporary ones.
#pragma once

#include <string>

namespace rtrain::store {

// Copies the folder's contents into the target, which is created if missing. Existing files are
// replaced, symlinks are copied as links. A target that was missing appears complete. Throws
// Error(kEnvironment) naming the paths.
void copy_tree(const std::string& from, const std::string& to);

// Creates the folder and its missing parents with the user's umask.
void make_user_folders(const std::string& path);

// Creates an empty folder `<prefix><random>` below $TMPDIR (or /tmp), with access only for the
// user. Returns its absolute path.
std::string make_temp_folder(const std::string& prefix);

}  // namespace rtrain::store
