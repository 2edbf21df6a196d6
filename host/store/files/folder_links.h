// host/store/files/folder_links.h: the targets of symlinks in a folder, so that links stay valid
// when it is copied or moved.
#pragma once

#include <map>
#include <string>

namespace rtrain::store {

// Exactly one of the two is set.
struct LinkTarget {
  std::string text;  // for a link inside the folder: its text
  std::string file;  // for a link to the outside: the file
};

// The links of the folder, by their paths in it. Throws kCheckpoint for a link to the outside whose
// target is missing or is not a file. A dangling link inside the folder is kept.
std::map<std::string, LinkTarget> folder_links(const std::string& folder);

// Whether the text of a link at that path of a folder leads out of the folder.
bool leaves_folder(const std::string& path, const std::string& text);

// The text of a symlink.
std::string read_link(const std::string& path);

}  // namespace rtrain::store
