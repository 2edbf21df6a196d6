// host/bundle/bundle_folder.h: where bundles unpack themselves. For a bundle's own program, which
// links nothing of rtrain, and for `rtrain gc --bundles`.
#pragma once

#include <cstdlib>
#include <string>

namespace rtrain::bundle {

// Returns $XDG_CACHE_HOME/rtrain/bundles, else ~/.cache/rtrain/bundles; "" without HOME too.
//
// For each bundle it has the folder HASH, which is complete if it exists; HASH.lock, on which users
// of the folder hold a shared lock until they end, and which a process that makes or removes the
// folder locks exclusively; and HASH.partial while the folder is made. The text of HASH.lock is the
// name of the bundle, its time that of the last start.
inline std::string bundle_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/rtrain/bundles";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return {};
  return std::string(home) + "/.cache/rtrain/bundles";
}

}  // namespace rtrain::bundle
