#include "host/store/files/folder_links.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "host/base/text/terminal_text.h"
#include "host/base/text/text.h"
#include "host/store/files/file.h"

namespace rtrain::store {
namespace {

namespace fs = std::filesystem;

// Both paths are normalized, and both absolute or both relative to the folder.
bool is_within(const fs::path& path, const fs::path& folder) {
  const fs::path below = path.lexically_relative(folder);
  return !below.empty() && *below.begin() != "..";
}

Error refused(const fs::path& link, const std::string& text, std::string_view what) {
  return Error(Code::kCheckpoint,
               cat("the link ", terminal_line(link.string()), " leads to ", terminal_line(text),
                   what, ": a checkpoint holds all that it needs; put files into it"));
}

LinkTarget target_of(const fs::path& folder, const fs::path& path) {
  const fs::path link = folder / path;
  const std::string text = read_link(link);
  const bool stays = !leaves_folder(path, text);
  std::error_code failure;
  const fs::path place = fs::canonical(link, failure);
  if (failure) {
    if (stays) return {text, ""};
    throw refused(link, text, cat(", which cannot be opened (", failure.message(), ")"));
  }
  if (is_within(place, folder)) {
    if (stays) return {text, ""};
    return {place.lexically_relative(link.parent_path()), ""};
  }
  if (path_kind(place) != "file") throw refused(link, text, ", which is not a file");
  return {"", place};
}

}  // namespace

std::map<std::string, LinkTarget> folder_links(const std::string& folder) {
  std::map<std::string, LinkTarget> out;
  std::error_code failure;
  const fs::path root = fs::canonical(folder, failure);
  fs::recursive_directory_iterator entry(root, failure);
  for (; !failure && entry != fs::recursive_directory_iterator(); entry.increment(failure)) {
    if (std::error_code gone; !entry->is_symlink(gone)) continue;
    const fs::path path = entry->path().lexically_relative(root);
    out.emplace(path, target_of(root, path));
  }
  if (failure) throw file_error("read folder", folder, failure.value());
  return out;
}

bool leaves_folder(const std::string& path, const std::string& text) {
  const fs::path target = text;
  if (text.empty() || target.is_absolute()) return true;
  const fs::path place = (fs::path(path).parent_path() / target).lexically_normal();
  return !place.empty() && *place.begin() == "..";
}

std::string read_link(const std::string& path) {
  std::string target(4096, '\0');
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  if (size < 0) throw file_error("read", path);
  target.resize(static_cast<size_t>(size));
  return target;
}

}  // namespace rtrain::store
