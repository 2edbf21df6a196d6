#include "host/worker/report/pending_writes.h"

#include <utility>

#include "host/base/text/text.h"

namespace rtrain::worker {
namespace {

bool is_below(const std::string& path, const std::string& folder) {
  return path.size() > folder.size() && path.starts_with(folder) &&
         (folder.ends_with('/') || path[folder.size()] == '/');
}

}  // namespace

void PendingWrites::begin(const std::string& path) {
  const std::lock_guard lock(mutex_);
  Write& write = writes_[path];
  ++write.under_way;
  write.error.reset();
}

void PendingWrites::end(const std::string& path, const std::optional<Error>& error) {
  {
    const std::lock_guard lock(mutex_);
    Write& write = writes_[path];
    --write.under_way;
    if (error) write.error = error;
    if (write.under_way <= 0 && !write.error) writes_.erase(path);
  }
  changed_.notify_all();
}

const std::string* PendingWrites::unfinished(const std::string& folder) const {
  for (const auto& [path, write] : writes_) {
    if (write.under_way > 0 && is_below(path, folder)) return &path;
  }
  return nullptr;
}

void PendingWrites::wait_for(const std::string& folder, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const bool done = changed_.wait_for(lock, timeout, [&] { return unfinished(folder) == nullptr; });
  if (!done) {
    throw Error(Code::kTimeout, cat("the checkpoint's file '", *unfinished(folder),
                                    "' is not written after ", timeout.count() / 1000.0, " s"));
  }
  for (auto entry = writes_.begin(); entry != writes_.end(); ++entry) {
    if (!entry->second.error || !is_below(entry->first, folder)) continue;
    const Error error = *std::exchange(entry->second.error, std::nullopt);
    writes_.erase(entry);
    throw error;
  }
}

}  // namespace rtrain::worker
