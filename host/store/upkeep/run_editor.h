// host/store/upkeep/run_editor.h: what people change about runs that are there: tags, note, name,
// whether it is archived, and whether it is there at all.
//
// Each call is one transaction, on the disk when it returns. Tags, notes and the archive may change
// while a controller works on the run; its name and its folder may not. rename() and remove() hold
// the run's lock, and a kill at any point leaves the run whole under one name or the other, or gone
// but for files that host/store/upkeep/garbage.h finds.
// Errors: kUsage for what cannot be (a live run, a name that is taken), kUnsupported for a new name
// in an object store, kEnvironment for the rest.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/store/checkpoints/object_storage.h"
#include "host/store/claim/run_lock.h"
#include "host/store/db/database.h"
#include "host/store/read/run_resolver.h"

namespace rtrain {

// A run that was removed and whose files are on their way out is called that.
inline constexpr std::string_view kRemovedPrefix = ".removed-";

class RunEditor {
 public:
  // Opens the store, which is there, for writing.
  explicit RunEditor(const std::string& storage_path);

  // The run's tags, in the order in which they came.
  std::vector<std::string> tags(const RunRef& run);
  // Adds tags that it does not have, removes tags that it has; returns what it has then.
  std::vector<std::string> change_tags(const RunRef& run, std::span<const std::string> added,
                                       std::span<const std::string> removed);
  // Throws for a tag that the run does not have, as change_tags does when it is to remove it.
  void check_has_tags(const RunRef& run, std::span<const std::string> removed);
  std::string note(const RunRef& run);
  void set_note(const RunRef& run, const std::string& note);
  // Adds a line, returns the whole note.
  std::string append_note(const RunRef& run, const std::string& line);
  void set_archived(const RunRef& run, bool archived);

  // Checkpoints of a run that no controller owns go, with their files; one that a reader holds goes
  // with the reader. Throws kUsage for a name that is not there.
  void drop_checkpoints(const RunRef& run, std::span<const std::string> names);

  void rename(const RunRef& run, const std::string& name);
  // Throws when the run could not be removed, or what is wanted, now: a controller owns it.
  void check_removable(const RunRef& run, std::string_view wanted = "removed");
  // With its files, in an object store also those there.
  void remove(const RunRef& run);

 private:
  std::string cell(const RunRef& run, std::string_view column);
  // Of the run, unless it has no folder. Throws kUsage when it is live.
  std::optional<RunLock> claim(const RunRef& run, std::string_view wanted);
  void check_stored(const RunRef& run);
  void finish_rename(const RunRef& run);
  void update(const RunRef& run, std::string_view column,
              const std::function<std::optional<std::string>()>& value);

  std::string storage_path_;
  std::optional<ObjectStorage> objects_;
  Database database_;
};

}  // namespace rtrain
