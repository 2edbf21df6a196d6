// host/store/files/folder_links.h: where the symlinks below a folder lead, so that they lead there
// still when it was copied or moved.
#pragma once

#include <map>
#include <string>

namespace rtrain {

// One of the two is empty.
struct LinkTarget {
  std::string text;  // within the folder: of a link that does not leave it
  std::string file;  // the file outside of it
};

// Those of the folder, by their paths in it. Throws kCheckpoint for one that leads out of it to
// nothing, or to something that is not a file. One that leads to nothing within is left as it is.
std::map<std::string, LinkTarget> folder_links(const std::string& folder);

// Whether a link with that text, at that path of a folder, leads out of the folder by its text.
bool leaves_folder(const std::string& path, const std::string& text);

// The text of a symlink.
std::string read_link(const std::string& path);

}  // namespace rtrain
