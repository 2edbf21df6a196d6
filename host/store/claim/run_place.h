// host/store/claim/run_place.h: holds a run's folder open, so that its controller notices when the
// folder is moved or removed.
//
// Open files move with their folder, so later writes would end up in a place that readers do not
// look at.
#pragma once

#include <string>

#include "host/store/files/file.h"

namespace rtrain::store {

class RunPlace {
 public:
  explicit RunPlace(const std::string& run_path);

  // Throws kEnvironment if the path no longer names that folder, and says where the checkpoints
  // are.
  void check() const;

 private:
  OpenFile folder_;
};

}  // namespace rtrain::store
