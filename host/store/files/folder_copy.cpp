#include "host/store/files/folder_copy.h"

#include <cstdlib>
#include <filesystem>

#include "host/base/text/text.h"
#include "host/store/files/file.h"

namespace rtrain {

void copy_tree(const std::string& from, const std::string& to) {
  namespace fs = std::filesystem;
  make_user_folders(to);
  std::error_code failure;
  fs::copy(from, to,
           fs::copy_options::recursive | fs::copy_options::overwrite_existing |
               fs::copy_options::copy_symlinks,
           failure);
  if (failure) throw file_error(cat("copy ", from, " to"), to, failure.value());
}

void make_user_folders(const std::string& path) {
  std::error_code failure;
  std::filesystem::create_directories(path, failure);
  if (failure) throw file_error("make folder", path, failure.value());
}

std::string make_temp_folder(const std::string& prefix) {
  const char* folder = std::getenv("TMPDIR");
  std::string path = cat(absolute_path(folder != nullptr && *folder != '\0' ? folder : "/tmp"), "/",
                         prefix, "XXXXXX");
  if (mkdtemp(path.data()) == nullptr) throw file_error("make", path);
  return path;
}

}  // namespace rtrain
