// host/store/claim/run_end.h: the end of a run whose store could not be written: `<run>/end`, a
// file whose disk space was reserved when the run began.
//
// The next controller that opens the store, or `rtrain gc --rebuild`, copies it to the store.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/value.h"
#include "host/store/db/database.h"
#include "host/store/files/file.h"

namespace rtrain::store {

class RunEnd {
 public:
  // Reserves the disk space. Throws kEnvironment.
  explicit RunEnd(const std::string& run_path);

  // `error`: as runs.error, or nil; cut if it is long. Throws kEnvironment.
  void write(std::string_view run_id, int64_t owner_epoch, std::string_view status,
             const Value& error);
  // Removes the file, once the store has the end.
  void remove() const;

  const std::string& path() const { return file_.path(); }

 private:
  OpenFile file_;
};

// The status in such a file of the run; nullopt if there is none. The caller must know whether the
// run is live. Throws kEnvironment.
std::optional<std::string> run_end_status(const std::string& run_path, std::string_view run_id);

// Copies such files to the store, for runs that have not ended there and that no process owns, and
// removes the files. Returns one line for each.
std::vector<std::string> enter_run_ends(Database& database, const std::string& storage_path);

}  // namespace rtrain::store
