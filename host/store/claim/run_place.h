// host/store/claim/run_place.h: a run's folder, held open, so that its controller notices when
// somebody moves or removes it.
//
// Open files go with their folder: what is written to them afterwards would be found nowhere.
#pragma once

#include <string>

#include "host/store/files/file.h"

namespace rtrain {

class RunPlace {
 public:
  explicit RunPlace(const std::string& run_path);

  // Throws kEnvironment when the path does not name that folder any more, and says where the
  // checkpoints are.
  void check() const;

 private:
  OpenFile folder_;
};

}  // namespace rtrain
