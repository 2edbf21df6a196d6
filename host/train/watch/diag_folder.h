// host/train/watch/diag_folder.h: a folder of a run with the findings about a hang.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rtrain::train {

struct DiagFolder {
  // "20261122-015900.123-attempt-2"
  static std::string name(int64_t unix_ms, int attempt);
  // Throws kEnvironment. The caller must act on the verdict even if the disk is full.
  static void write(const std::string& folder,
                    const std::vector<std::pair<std::string, std::string>>& files);
};

}  // namespace rtrain::train
