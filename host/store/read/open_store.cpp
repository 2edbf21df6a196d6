#include "host/store/read/open_store.h"

#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/store/checkpoints/object_storage.h"
#include "host/store/db/schema.h"
#include "host/store/read/run_functions.h"

namespace rtrain::store {

OpenStore::OpenStore(Database database, std::string folder,
                     std::shared_ptr<MetricExtremes> extremes)
    : folder_(std::make_unique<std::string>(std::move(folder))),
      database_(std::make_unique<Database>(std::move(database))) {
  add_run_functions(*database_, *folder_, std::move(extremes));
  database_->allow_reads_only();
}

std::optional<OpenStore> OpenStore::open(const std::string& folder,
                                         std::shared_ptr<MetricExtremes> extremes) {
  std::optional<Database> database = Database::open_read_only(folder + "/rtrain.db");
  if (!database) return std::nullopt;
  check_is_store(*database);
  Statement tables = database->prepare("SELECT 1 FROM sqlite_master WHERE name = 'runs'");
  if (!tables.next()) return std::nullopt;  // a controller is creating the tables
  return OpenStore(std::move(*database), folder, std::move(extremes));
}

RunRef OpenStore::find(const std::string& run) { return resolve_run(*database_, *folder_, run); }

std::string OpenStore::uri() const {
  const auto objects = ObjectStorage::of(*folder_);
  return objects ? objects->uri() : "";
}

Statement OpenStore::hold() {
  // A statement that has not finished keeps SQLite's snapshot open.
  Statement held = database_->prepare("SELECT 1 FROM sqlite_master");
  held.next();
  return held;
}

OpenRun open_run(const std::string& folder, const std::string& run) {
  std::optional<OpenStore> store = OpenStore::open(folder);
  if (!store) {
    throw usage_error(cat("no run '", run, "': there are no runs in ", folder,
                          " yet (--storage or RTRAIN_STORAGE names another place)"));
  }
  RunRef ref = store->find(run);
  return {std::move(*store), std::move(ref)};
}

}  // namespace rtrain::store
