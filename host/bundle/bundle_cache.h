// host/bundle/bundle_cache.h: lists and removes the bundles that are unpacked in a folder
// (host/bundle/bundle_folder.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rtrain::bundle {

struct UnpackedBundle {
  enum class State {
    kUnused,
    kInUse,       // a process of it runs, or a process unpacks it
    kIncomplete,  // a process that unpacked it was killed
  };

  std::string path;  // its folder, even if that is incomplete
  std::string name;  // "rtrain-0.1.0-cpu.run"; empty if it is not known
  int64_t size_bytes = 0;
  int64_t last_used_ms = 0;
  State state = State::kUnused;
};

// Returns them sorted by their folders' names.
std::vector<UnpackedBundle> unpacked_bundles(const std::string& folder);

// Removes it and returns true. Returns false if a process uses it, even one that begins meanwhile.
// Throws Error(kEnvironment) if a part of it cannot be removed.
bool remove_bundle(const UnpackedBundle& bundle);

}  // namespace rtrain::bundle
