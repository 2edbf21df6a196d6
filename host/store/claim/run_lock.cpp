#include "host/store/claim/run_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "host/base/fault.h"
#include "host/base/text/text.h"

namespace rtrain::store {
namespace {

struct flock whole_file(short type) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  return range;
}

std::string lock_path(const std::string& run_path) { return run_path + "/lock"; }

// Returns false if another process has the lock.
bool try_lock(const OpenFile& file) {
  struct flock range = whole_file(F_WRLCK);
  if (::fcntl(file.fd(), F_OFD_SETLK, &range) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  const int reason = errno;
  if (is_without_locks(reason)) throw no_locks_error(file.path());
  throw file_error("lock", file.path(), reason);
}

}  // namespace

std::optional<RunLock> RunLock::try_take(const std::string& run_path) {
  fault_point("lock.take");
  OpenFile file;
  // A controller that gave up may have removed the file between open and lock.
  do {
    file = OpenFile(lock_path(run_path), O_RDWR | O_CREAT);
    if (!try_lock(file)) return std::nullopt;
  } while (!file.is_at_its_path());
  if (::ftruncate(file.fd(), 0) != 0) throw file_error("write", file.path());
  file.write(RunOwner::of_this_process().to_json() + "\n");
  return RunLock(std::move(file));
}

bool RunLock::is_held(const std::string& run_path) {
  if (!path_exists(lock_path(run_path))) return false;
  OpenFile file(lock_path(run_path), O_RDONLY);
  struct flock range = whole_file(F_WRLCK);
  if (::fcntl(file.fd(), F_OFD_GETLK, &range) != 0) throw file_error("look at", file.path());
  return range.l_type != F_UNLCK;
}

void RunLock::remove_file() const { ::unlink(file_.path().c_str()); }

RunOwner RunLock::owner(const std::string& run_path) {
  if (!path_exists(lock_path(run_path))) return {};
  return RunOwner::from_json(read_text(lock_path(run_path)));
}

}  // namespace rtrain::store
