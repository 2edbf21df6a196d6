// host/store/claim/run_end.h: the end of a run whose store could not be written: `<run>/end`, a
// file whose room on the disk was taken as the run began.
//
// The next controller that opens the store enters it there, or `rtrain gc --rebuild`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/value.h"
#include "host/store/db/database.h"
#include "host/store/files/file.h"

namespace rtrain {

class RunEnd {
 public:
  // Takes the room. Throws kEnvironment.
  explicit RunEnd(const std::string& run_path);

  // `error`: as runs.error, or nil; cut where it is long. Throws kEnvironment.
  void write(std::string_view run_id, int64_t owner_epoch, std::string_view status,
             const Value& error);
  // The store has the end.
  void remove() const;

  const std::string& path() const { return file_.path(); }

 private:
  OpenFile file_;
};

// The status that such a file of the run has; nothing where there is none. Whether the run lives is
// for the caller to know. Throws kEnvironment.
std::optional<std::string> run_end_status(const std::string& run_path, std::string_view run_id);

// Enters what such files say about runs that have not ended in the store and that no process owns,
// and removes the files. Returns one line for each.
std::vector<std::string> enter_run_ends(Database& database, const std::string& storage_path);

}  // namespace rtrain
