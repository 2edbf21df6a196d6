#include "host/base/runtime_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "host/base/error.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

std::string path_from_environment() {
  if (const char* own = std::getenv("RTRAIN_RUNTIME_DIR"); own != nullptr && *own != '\0') {
    return own;
  }
  if (const char* session = std::getenv("XDG_RUNTIME_DIR");
      session != nullptr && *session != '\0') {
    return cat(session, "/rtrain");
  }
  return cat("/tmp/rtrain-", getuid());
}

[[noreturn]] void refuse(const std::string& path, std::string_view why) {
  throw Error(Code::kEnvironment,
              cat("the runtime folder ", path, " ", why,
                  ": set RTRAIN_RUNTIME_DIR to a folder that only you can open"));
}

}  // namespace

std::string runtime_folder() {
  std::string path = path_from_environment();
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    refuse(path, cat("cannot be made: ", std::strerror(errno)));
  }
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) refuse(path, std::strerror(errno));
  if (!S_ISDIR(info.st_mode)) refuse(path, "is no folder");
  if (info.st_uid != geteuid()) refuse(path, "belongs to another user");
  if ((info.st_mode & 077) != 0) refuse(path, "is open to other users");
  return path;
}

}  // namespace rtrain
