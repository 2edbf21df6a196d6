#include "host/store/files/folder_copy.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "host/base/text/text.h"
#include "host/store/files/file.h"

namespace rtrain::store {
namespace {

namespace fs = std::filesystem;

// `to` is only used in messages.
void copy_contents(const std::string& from, const std::string& target, const std::string& to) {
  make_user_folders(target);
  std::error_code failure;
  fs::copy(from, target,
           fs::copy_options::recursive | fs::copy_options::overwrite_existing |
               fs::copy_options::copy_symlinks,
           failure);
  if (failure) throw file_error(cat("copy ", from, " to"), to, failure.value());
}

// A temporary folder next to its final path; the destructor removes it unless it was renamed.
class NewFolder {
 public:
  explicit NewFolder(const std::string& target)
      : path_(cat(target, ".tmp-", static_cast<int>(getpid()))) {}
  ~NewFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  const std::string& path() const { return path_; }
  void rename_to(const std::string& target) {
    if (::rename(path_.c_str(), target.c_str()) != 0) throw file_error("write", target);
    path_.clear();
  }

 private:
  std::string path_;
};

}  // namespace

void copy_tree(const std::string& from, const std::string& to) {
  if (path_exists(to)) return copy_contents(from, to, to);
  const std::string target(to.substr(0, to.find_last_not_of('/') + 1));
  NewFolder folder(target);
  copy_contents(from, folder.path(), to);
  folder.rename_to(target);
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

}  // namespace rtrain::store
