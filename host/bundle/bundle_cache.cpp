#include "host/bundle/bundle_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <set>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/store/files/file.h"

namespace rtrain::bundle {
namespace {

constexpr std::string_view kLock = ".lock";
constexpr std::string_view kPartial = ".partial";

std::string lock_path(const std::string& path) { return cat(path, kLock); }
std::string partial_path(const std::string& path) { return cat(path, kPartial); }

// Returns a bundle's lock if no other process holds it. Makes the file if it does not exist, as a
// bundle would.
store::OpenFile try_lock(const std::string& path) {
  store::OpenFile lock(lock_path(path), O_RDWR | O_CREAT);
  const bool is_ours = ::flock(lock.fd(), LOCK_EX | LOCK_NB) == 0 && lock.is_at_its_path();
  return is_ours ? std::move(lock) : store::OpenFile();
}

int64_t changed_ms(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return 0;
  constexpr int64_t kMs = 1000;
  constexpr int64_t kNsPerMs = 1'000'000;
  return info.st_mtim.tv_sec * kMs + info.st_mtim.tv_nsec / kNsPerMs;
}

UnpackedBundle describe(const std::string& path) {
  UnpackedBundle out;
  out.path = path;
  const bool is_whole = store::path_exists(path);
  const std::string place = is_whole ? path : partial_path(path);
  out.size_bytes = store::path_exists(place) ? store::folder_size(place) : 0;
  if (!store::path_exists(lock_path(path))) {
    out.last_used_ms = changed_ms(place);
  } else {
    out.name = std::string(trim(store::read_text(lock_path(path))));
    out.last_used_ms = changed_ms(lock_path(path));
    if (!try_lock(path)) {
      out.state = UnpackedBundle::State::kInUse;
      return out;
    }
  }
  if (!is_whole) out.state = UnpackedBundle::State::kIncomplete;
  return out;
}

void remove_or_throw(const std::string& path) {
  if (store::path_exists(path) && !store::remove_tree(path))
    throw store::file_error("remove", path);
}

}  // namespace

std::vector<UnpackedBundle> unpacked_bundles(const std::string& folder) {
  std::set<std::string> names;
  for (const std::string& entry : store::folder_entries(folder)) {
    std::string_view name = entry;
    for (const std::string_view ending : {kLock, kPartial}) {
      if (name.ends_with(ending)) name.remove_suffix(ending.size());
    }
    names.emplace(name);
  }
  std::vector<UnpackedBundle> out;
  for (const std::string& name : names) out.push_back(describe(cat(folder, "/", name)));
  return out;
}

// First the folder, which a bundle would consider complete, gets another name. The lock is removed
// last: a process that waits for it then sees that it is gone, and begins again.
bool remove_bundle(const UnpackedBundle& bundle) {
  const store::OpenFile lock = try_lock(bundle.path);
  if (!lock) return false;
  remove_or_throw(partial_path(bundle.path));
  if (store::path_exists(bundle.path)) {
    if (std::rename(bundle.path.c_str(), partial_path(bundle.path).c_str()) != 0) {
      throw store::file_error("remove", bundle.path);
    }
    remove_or_throw(partial_path(bundle.path));
  }
  remove_or_throw(lock_path(bundle.path));
  return true;
}

}  // namespace rtrain::bundle
