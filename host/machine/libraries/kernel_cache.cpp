#include "host/machine/libraries/kernel_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

#include "host/base/codec/hash.h"
#include "host/base/files/fd.h"
#include "host/base/text/text.h"

namespace rtrain::machine {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "rtrain kernel 1\n";
constexpr size_t kHashDigits = 16;
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

bool is_private(const struct stat& facts) {
  return facts.st_uid == geteuid() && (facts.st_mode & kOthersWrite) == 0;
}

// Magic, a hash of the rest, the key's size in digits and a line end, the key, the image.
std::string packed(const std::string& key, const std::string& image) {
  const std::string rest = cat(key.size(), "\n", key, image);
  return cat(kMagic, hash_text(hash64(rest)), rest);
}

std::optional<std::string> unpacked(std::string_view file, const std::string& key) {
  const size_t head = kMagic.size() + kHashDigits;
  if (file.size() < head || !file.starts_with(kMagic)) return std::nullopt;
  std::string_view rest = file.substr(head);
  if (file.substr(kMagic.size(), kHashDigits) != hash_text(hash64(rest))) return std::nullopt;
  const std::string begin = cat(key.size(), "\n", key);
  if (!rest.starts_with(begin)) return std::nullopt;
  return std::string(rest.substr(begin.size()));
}

std::optional<std::string> read_private(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat facts {};
  if (file.get() < 0 || fstat(file.get(), &facts) != 0) return std::nullopt;
  if (!S_ISREG(facts.st_mode) || !is_private(facts)) return std::nullopt;
  std::string out(static_cast<size_t>(facts.st_size), '\0');
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = read(file.get(), out.data() + done, out.size() - done);
    if (got <= 0) return std::nullopt;
    done += static_cast<size_t>(got);
  }
  futimens(file.get(), nullptr);  // it was used now
  return out;
}

bool write_new(const std::string& path, std::string_view bytes) {
  const Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  while (file.get() >= 0 && !bytes.empty()) {
    const ssize_t put = write(file.get(), bytes.data(), bytes.size());
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return file.get() >= 0;
}

}  // namespace

std::string KernelCache::default_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return cat(cache, "/rtrain/kernels");
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return {};
  return cat(home, "/.cache/rtrain/kernels");
}

std::string KernelCache::path_of(const std::string& key) const {
  return cat(folder_, "/", hash_text(hash64(key)));
}

// A folder that is a symlink counts as it is, since the user has made it.
bool KernelCache::is_ours() const {
  struct stat facts {};
  return !folder_.empty() && stat(folder_.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) &&
         is_private(facts);
}

std::optional<std::string> KernelCache::find(const std::string& key) const {
  if (!is_ours()) return std::nullopt;
  const auto file = read_private(path_of(key));
  return file ? unpacked(*file, key) : std::nullopt;
}

void KernelCache::add(const std::string& key, const std::string& image) const {
  static std::atomic<int> count{0};
  std::error_code ignored;
  if (folder_.empty()) return;
  fs::create_directories(fs::path(folder_).parent_path(), ignored);
  mkdir(folder_.c_str(), 0700);
  if (!is_ours()) return;
  const std::string path = path_of(key);
  const std::string part = cat(path, ".", getpid(), ".", ++count);
  const bool is_written = write_new(part, packed(key, image));
  if (!is_written || rename(part.c_str(), path.c_str()) != 0) unlink(part.c_str());
  make_room();
}

void KernelCache::make_room() const {
  struct Entry {
    fs::file_time_type used;
    std::string path;
    int64_t bytes;
  };
  std::vector<Entry> entries;
  int64_t bytes = 0;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored)) {
    if (!entry.is_regular_file(ignored)) continue;
    const auto size = static_cast<int64_t>(entry.file_size(ignored));
    entries.push_back({entry.last_write_time(ignored), entry.path().string(), size});
    bytes += size;
  }
  std::ranges::sort(entries, {}, &Entry::used);
  for (const Entry& entry : entries) {
    if (bytes <= most_bytes_) return;
    unlink(entry.path.c_str());
    bytes -= entry.bytes;
  }
}

}  // namespace rtrain::machine
