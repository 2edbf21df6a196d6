#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/cli/machine/doctor_check.h"
#include "host/cli/screen/listing.h"
#include "host/store/db/database.h"
#include "host/store/files/file.h"
#include "host/store/files/network_path.h"
#include "host/store/runs/storage_folder.h"

namespace rtrain::cli {
namespace {

constexpr int64_t kFewBytes = int64_t{1} << 30;
constexpr int64_t kTooFewBytes = int64_t{16} << 20;

// A new folder in another one; the destructor removes it with its content.
class ProbeFolder {
 public:
  explicit ProbeFolder(const std::string& parent) : path_(cat(parent, "/.rtrain-doctor-XXXXXX")) {
    if (::mkdtemp(path_.data()) == nullptr) {
      throw Error(Code::kEnvironment, cat("cannot write in ", parent, ": ", std::strerror(errno)));
    }
  }
  ~ProbeFolder() { store::remove_tree(path_); }
  ProbeFolder(const ProbeFolder&) = delete;
  ProbeFolder& operator=(const ProbeFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Returns the folder itself, or the existing folder in which it would be created.
std::string existing(std::string path) {
  while (store::path_kind(path).empty() && path.size() > 1)
    path.resize(std::max<size_t>(1, path.rfind('/')));
  return path;
}

// Writes and syncs a file in the folder.
Check check_writable(const std::string& name, const std::string& folder, const std::string& mend) {
  const std::string place = existing(folder);
  Check check{name, CheckStatus::kOk, folder};
  if (place != folder) check.finding += " (not there yet)";
  try {
    const ProbeFolder probe(place);
    store::OpenFile file(cat(probe.path(), "/file"), O_WRONLY | O_CREAT);
    file.write("doctor");
    file.sync_data();
  } catch (const Error& e) {
    return {name, CheckStatus::kFailure, e.message(), mend};
  }
  struct statvfs info = {};
  if (::statvfs(place.c_str(), &info) != 0) return check;
  const auto free_bytes = static_cast<int64_t>(info.f_bavail * info.f_frsize);
  check.finding += cat(", ", human_size(free_bytes), " free");
  if (store::is_network_path(place)) check.finding += ", network file system";
  if (free_bytes >= kFewBytes) return check;
  check.status = free_bytes < kTooFewBytes ? CheckStatus::kFailure : CheckStatus::kWarning;
  check.mend = cat("make space there (`rtrain gc` finds what no run needs), or ", mend);
  return check;
}

Check check_temporary() {
  const std::string name = "temporary folder";
  const std::string mend = "set TMPDIR to a folder that can be written";
  const char* set = std::getenv("TMPDIR");
  const std::string folder = set != nullptr && *set != '\0' ? set : "/tmp";
  if (store::path_kind(folder) == "folder") return check_writable(name, folder, mend);
  return {name, CheckStatus::kFailure, cat("there is no folder ", folder), mend};
}

// Tests a new store next to the real one: whether SQLite's journal, locks and fsync work there.
Check check_store(const std::string& storage) {
  constexpr double kSlowS = 0.5;
  const std::string name = "run store";
  const std::string mend = "name another folder of results: RTRAIN_STORAGE, or --storage";
  try {
    const std::string place = existing(storage);
    const ProbeFolder probe(place);
    if (!store::has_locks(probe.path())) throw store::no_locks_error(storage);
    store::Database database = store::Database::open(cat(probe.path(), "/rtrain.db"));
    const double start_s = monotonic_s();
    store::Transaction transaction(database, store::Durability::kFull);
    database.execute("CREATE TABLE doctor (value); INSERT INTO doctor VALUES (1);");
    transaction.commit();
    const double seconds = monotonic_s() - start_s;
    Check check{name, CheckStatus::kOk,
                cat("SQLite, locks and a synced write in ", static_cast<int>(seconds * 1000), " ms",
                    database.on_network() ? ", without WAL on a network file system" : "")};
    if (seconds > kSlowS) {
      check.status = CheckStatus::kWarning;
      check.mend = cat("this disk is slow at fsync: ", mend);
    }
    return check;
  } catch (const Error& e) {
    return {name, CheckStatus::kFailure, e.message(), mend};
  }
}

// Checks the store that already exists.
std::optional<Check> check_existing_store(const std::string& storage) {
  const std::string name = "runs";
  try {
    auto database = store::Database::open_read_only(cat(storage, "/rtrain.db"));
    if (!database) return std::nullopt;
    store::Statement count = database->prepare("SELECT count(*) FROM runs");
    count.next();
    return Check{name, CheckStatus::kOk, cat(count.integer(0), " in ", storage)};
  } catch (const Error& e) {
    return Check{name, CheckStatus::kFailure, e.message(),
                 "rtrain gc --rebuild, with a copy at hand"};
  }
}

}  // namespace

std::vector<Check> check_folders() {
  std::vector<Check> checks = {check_temporary()};
  try {
    const std::string storage = store::storage_folder();
    checks.push_back(
        check_writable("storage", storage, "set RTRAIN_STORAGE to a folder that can be written"));
    // The problem was reported already.
    if (checks.back().status == CheckStatus::kFailure) return checks;
    checks.push_back(check_store(storage));
    if (const auto runs = check_existing_store(storage)) checks.push_back(*runs);
  } catch (const Error& e) {
    checks.push_back({"storage", CheckStatus::kFailure, e.message(), "set RTRAIN_STORAGE"});
  }
  return checks;
}

}  // namespace rtrain::cli
