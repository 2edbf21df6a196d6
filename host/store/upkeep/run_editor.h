// host/store/upkeep/run_editor.h: changes by users to existing runs: tags, note, name, archiving
// and removal.
//
// Each call is one transaction, on the disk when it returns. Tags, notes and archiving may change
// while a controller runs the run; its name and folder may not. rename() and remove() hold the
// run's lock; after a kill at any point the run is complete under one of its names, or removed
// except for files that host/store/upkeep/garbage.h finds. Errors: kUsage for requests that are not
// possible (a live run, a taken name), kUnsupported for renaming in an object store, kEnvironment
// for the rest.
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

namespace rtrain::store {

// Name prefix of a removed run's folder while its files are being deleted.
inline constexpr std::string_view kRemovedPrefix = ".removed-";

class RunEditor {
 public:
  // Opens the existing store for writing.
  explicit RunEditor(const std::string& storage_path);

  // The run's tags, in the order in which they were added.
  std::vector<std::string> tags(const RunRef& run);
  // Adds missing tags and removes existing ones. Returns the resulting tags.
  std::vector<std::string> change_tags(const RunRef& run, std::span<const std::string> added,
                                       std::span<const std::string> removed);
  // Throws if the run lacks one of the tags, as change_tags does for tags to remove.
  void check_has_tags(const RunRef& run, std::span<const std::string> removed);
  std::string note(const RunRef& run);
  void set_note(const RunRef& run, const std::string& note);
  // Appends a line and returns the whole note.
  std::string append_note(const RunRef& run, const std::string& line);
  void set_archived(const RunRef& run, bool archived);

  // Drops checkpoints of a run without a controller, with their files; if a reader holds one, the
  // last reader deletes it. Throws kUsage for an unknown name.
  void drop_checkpoints(const RunRef& run, std::span<const std::string> names);

  void rename(const RunRef& run, const std::string& name);
  // Throws if the run cannot be removed (or `wanted`) now, because a controller owns it.
  void check_removable(const RunRef& run, std::string_view wanted = "removed");
  // Removes the run with its files, including those in an object store.
  void remove(const RunRef& run);

 private:
  std::string cell(const RunRef& run, std::string_view column);
  // Takes the run's lock, unless it has no folder. Throws kUsage if the run is live.
  std::optional<RunLock> claim(const RunRef& run, std::string_view wanted);
  void check_stored(const RunRef& run);
  void finish_rename(const RunRef& run);
  void update(const RunRef& run, std::string_view column,
              const std::function<std::optional<std::string>()>& value);

  std::string storage_path_;
  std::optional<ObjectStorage> objects_;
  Database database_;
};

}  // namespace rtrain::store
