// host/base/files/inner_file.h: files of a folder by names that somebody else chose.
//
// A manifest, a row, an object's key and an archive hold names that become paths. Whoever wrote
// them may be another user: each is checked where it is read. In a folder that others write into a
// name may be a symlink; open_beneath() does not leave the folder by one.
#pragma once

#include <string>
#include <string_view>

namespace rtrain {

// Whether it names one entry of a folder: no "/", not "", "." or "..".
inline bool is_inner_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

// Whether it leads below a folder: such names, "/" between them.
inline bool is_inner_path(std::string_view path) {
  for (size_t end = path.find('/'); end != std::string_view::npos; end = path.find('/')) {
    if (!is_inner_name(path.substr(0, end))) return false;
    path.remove_prefix(end + 1);
  }
  return is_inner_name(path);
}

// As open(2) with O_CLOEXEC and O_NOCTTY, errno included, of `path`, which begins with `folder` and
// a "/". The folder itself may be a symlink; behind it none is followed (ELOOP), and what is not an
// inner path is refused (EINVAL). REQUIRES: no O_CREAT.
int open_beneath(const std::string& folder, std::string_view path, int flags);

}  // namespace rtrain
