#include "host/store/upkeep/rename_link.h"

#include <unistd.h>

#include <filesystem>
#include <string_view>

#include "host/base/text/text.h"

namespace rtrain::store {
namespace {

// Has no effect on the target; it only marks the link.
constexpr std::string_view kMark = ".//";

std::string text_of_link(const std::string& path) {
  std::error_code failure;
  const std::filesystem::path target = std::filesystem::read_symlink(path, failure);
  return failure ? "" : target.string();
}

}  // namespace

bool make_rename_link(const std::string& path, const std::string& folder) {
  return ::symlink(cat(kMark, folder).c_str(), path.c_str()) == 0;
}

bool is_rename_link(const std::string& path) { return text_of_link(path).starts_with(kMark); }

std::string link_target(const std::string& path) {
  const std::string text = text_of_link(path);
  const std::string name = text.starts_with(kMark) ? text.substr(kMark.size()) : text;
  return name.find('/') == std::string::npos ? name : "";
}

}  // namespace rtrain::store
