// host/base/files/inner_file.h: opens files of a folder by names from other users.
//
// Manifests, rows, object keys and archives contain names that become paths. Another user may have
// written them, so each is checked when it is read. In a folder that others can write to, a name
// may also be a symlink; open_beneath() does not follow it out of the folder.
#pragma once

#include <string>
#include <string_view>

namespace rtrain {

// Whether it is the name of one entry: no "/", not "", "." or "..".
inline bool is_inner_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

// Whether it is a path below a folder: names of that kind separated by "/".
inline bool is_inner_path(std::string_view path) {
  for (size_t end = path.find('/'); end != std::string_view::npos; end = path.find('/')) {
    if (!is_inner_name(path.substr(0, end))) return false;
    path.remove_prefix(end + 1);
  }
  return is_inner_name(path);
}

// Like open(2) with O_CLOEXEC and O_NOCTTY, including errno, for a `path` that begins with `folder`
// and a "/". The folder may be a symlink; below it no symlink is followed (ELOOP), and a path that
// is not an inner path is refused (EINVAL). REQUIRES: no O_CREAT.
int open_beneath(const std::string& folder, std::string_view path, int flags);

}  // namespace rtrain
