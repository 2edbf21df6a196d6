#include "host/store/claim/run_place.h"

#include <fcntl.h>

#include <filesystem>

#include "host/base/text/text.h"

namespace rtrain::store {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

// The current path of the open folder, from the kernel.
std::string present_path(const OpenFile& folder) {
  std::error_code failure;
  const std::filesystem::path link = cat("/proc/self/fd/", folder.fd());
  const std::string path = std::filesystem::read_symlink(link, failure);
  return failure ? std::string(kDeleted) : path;
}

}  // namespace

RunPlace::RunPlace(const std::string& run_path) : folder_(run_path, O_PATH | O_DIRECTORY) {}

void RunPlace::check() const {
  if (folder_.is_at_its_path()) return;
  const std::string now = present_path(folder_);
  const std::string where = now.ends_with(kDeleted) ? "was removed, with its checkpoints,"
                            : now == folder_.path()
                                ? "was replaced by another one"
                                : cat("was moved to ", now, ", where its checkpoints are,");
  throw Error(Code::kEnvironment, cat("the run's folder ", folder_.path(), " ", where,
                                      " while the run was going on: this controller stops"));
}

}  // namespace rtrain::store
