// host/bundle/bundle_folder.h: where bundles unpack themselves. For the program that a bundle
// begins with, which links nothing of rtrain, and for `rtrain gc --bundles`.
#pragma once

#include <cstdlib>
#include <string>

namespace rtrain::bundle {

// $XDG_CACHE_HOME/rtrain/bundles, without that ~/.cache/rtrain/bundles; empty without HOME too.
//
// A bundle has there the folder HASH, complete or not there; HASH.lock, which whoever uses the
// folder holds shared until it ends, and whoever makes or removes it alone; and HASH.partial while
// it is made. The text of HASH.lock is the name of the bundle, its time that of the last start.
inline std::string bundle_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/rtrain/bundles";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return {};
  return std::string(home) + "/.cache/rtrain/bundles";
}

}  // namespace rtrain::bundle
