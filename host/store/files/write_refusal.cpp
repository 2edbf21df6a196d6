#include "host/store/files/write_refusal.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "host/base/text/text.h"

namespace rtrain::store {
namespace {

std::string user_name(uid_t id) {
  std::array<char, 4096> memory{};
  passwd entry{};
  passwd* found = nullptr;
  const int result = ::getpwuid_r(id, &entry, memory.data(), memory.size(), &found);
  return result == 0 && found != nullptr ? std::string(entry.pw_name) : cat("user ", id);
}

// "drwxr-xr-x"
std::string mode_text(mode_t mode) {
  std::string out = S_ISDIR(mode) ? "drwxrwxrwx" : "-rwxrwxrwx";
  for (size_t i = 1; i < out.size(); ++i) {
    if ((mode >> (9 - i) & 1U) == 0) out[i] = '-';
  }
  return out;
}

}  // namespace

std::string write_refusal(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return "";
  const int needed = S_ISDIR(info.st_mode) ? W_OK | X_OK : W_OK;
  if (::access(path.c_str(), needed) == 0) return "";
  if (errno == EROFS) return cat(path, " is on a file system that is mounted read-only");
  if (errno != EACCES) return "";
  return cat(path, " is read-only for this process, which is of ", user_name(::geteuid()),
             ": it belongs to ", user_name(info.st_uid), " (", mode_text(info.st_mode), ")");
}

}  // namespace rtrain::store
