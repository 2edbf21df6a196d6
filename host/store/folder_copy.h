// host/store/folder_copy.h: copies of folders outside a run, and temporary folders.
#pragma once

#include <string>

namespace rtrain {

// Copies the folder's contents into the target, made where missing; files that are there are
// replaced, symlinks copied as links. Throws Error(kEnvironment) naming the paths.
void copy_tree(const std::string& from, const std::string& to);

// Makes a new empty folder `<prefix><random>` below $TMPDIR (or /tmp) that only the user may enter;
// absolute.
std::string make_temp_folder(const std::string& prefix);

}  // namespace rtrain
