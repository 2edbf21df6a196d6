// host/machine/libraries/kernel_cache.h: a folder of the user with kernels that were compiled, for
// later processes.
//
// A file is complete when it has its name, and is believed only if it belongs to this user, nobody
// else may write to it or to the folder, and its hash is right. All others are as if they were not
// there. Any process and thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rtrain::machine {

class KernelCache {
 public:
  static constexpr int64_t kMostBytes = int64_t{256} << 20;

  // "" for no folder: finds nothing and keeps nothing.
  explicit KernelCache(std::string folder, int64_t most_bytes = kMostBytes)
      : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  // Returns $XDG_CACHE_HOME/rtrain/kernels, else ~/.cache/rtrain/kernels; "" without HOME too.
  static std::string default_folder();

  // `key`: all that the image depends on.
  std::optional<std::string> find(const std::string& key) const;
  // Keeps the image, and removes those that were used least recently beyond the limit. Errors are
  // ignored.
  void add(const std::string& key, const std::string& image) const;

 private:
  std::string path_of(const std::string& key) const;
  bool is_ours() const;
  void make_room() const;

  std::string folder_;
  int64_t most_bytes_;
};

}  // namespace rtrain::machine
