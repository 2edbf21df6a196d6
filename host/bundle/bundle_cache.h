// host/bundle/bundle_cache.h: the bundles that are unpacked in a folder
// (host/bundle/bundle_folder.h), and their removal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rtrain::bundle {

struct UnpackedBundle {
  enum class State {
    kUnused,
    kInUse,       // a process out of it runs, or one unpacks it
    kIncomplete,  // a process that unpacked it was killed
  };

  std::string path;  // of its folder, also where that is incomplete
  std::string name;  // "rtrain-0.1.0-cpu.run"; empty where it is not known
  int64_t size_bytes = 0;
  int64_t last_used_ms = 0;
  State state = State::kUnused;
};

// By their folders' names.
std::vector<UnpackedBundle> unpacked_bundles(const std::string& folder);

// Removes it unless a process uses it, also one that begins to meanwhile: false then. Throws
// kEnvironment when something of it cannot be removed.
bool remove_bundle(const UnpackedBundle& bundle);

}  // namespace rtrain::bundle
