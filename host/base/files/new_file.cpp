#include "host/base/files/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain {
namespace {

// Unique among all processes of the machine and all threads of this one.
std::string sibling_name(const std::string& target) {
  static std::atomic<unsigned> count{0};
  return cat(target, ".tmp-", static_cast<int>(getpid()), "-", count.fetch_add(1));
}

// Resolves symlinks whose target exists.
std::string resolved(const std::string& target) {
  std::error_code problem;
  if (!std::filesystem::is_symlink(target, problem)) return target;
  const std::filesystem::path found = std::filesystem::canonical(target, problem);
  return problem ? target : found.string();
}

bool can_be_replaced(const std::string& target) {
  struct stat info {};
  return stat(target.c_str(), &info) != 0 || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode);
}

}  // namespace

NewFile::NewFile(std::string target, Readers readers) : target_(std::move(target)) {
  if (readers == Readers::kByUmask) {
    target_ = resolved(target_);
    if (!can_be_replaced(target_)) {
      path_ = target_;
      fd_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
      if (fd_ < 0) fail(errno);
      return;
    }
  }
  path_ = sibling_name(target_);
  // Overwrites a file that a killed process with the same pid has left.
  int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
  const bool is_private = readers == Readers::kUserAlone;
  if (is_private) {
    unlink(path_.c_str());
    flags |= O_EXCL;
  }
  fd_ = open(path_.c_str(), flags, is_private ? 0600 : 0666);
  if (fd_ < 0) fail(errno);
}

NewFile::~NewFile() {
  if (fd_ < 0) return;
  close(fd_);
  if (path_ != target_) unlink(path_.c_str());
}

void NewFile::write(const void* data, size_t size) noexcept {
  const char* bytes = static_cast<const char*>(data);
  for (size_t done = 0; done < size && error_ == 0;) {
    const ssize_t n = ::write(fd_, bytes + done, size - done);
    if (n >= 0) {
      done += static_cast<size_t>(n);
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
}

void NewFile::commit(Durability durability) {
  if (error_ != 0) fail(error_);
  if (path_ == target_) {
    if (close(std::exchange(fd_, -1)) != 0) fail(errno);
    return;
  }
  if (durability == Durability::kSynced && fdatasync(fd_) != 0) fail(errno);
  if (rename(path_.c_str(), target_.c_str()) != 0) fail(errno);
  close(std::exchange(fd_, -1));
}

void NewFile::fail(int reason) const {
  throw Error(Code::kEnvironment, cat("cannot write '", target_, "': ", std::strerror(reason)));
}

}  // namespace rtrain
