#include "host/base/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "host/base/error.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

// Unique among the processes of a machine and the threads of this one.
std::string sibling_name(const std::string& target) {
  static std::atomic<unsigned> count{0};
  return cat(target, ".tmp-", static_cast<int>(getpid()), "-", count.fetch_add(1));
}

}  // namespace

NewFile::NewFile(std::string target, Readers readers)
    : target_(std::move(target)), path_(sibling_name(target_)) {
  // A file that a killed process of the same number left is written over.
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
  unlink(path_.c_str());
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
  if (durability == Durability::kSynced && fdatasync(fd_) != 0) fail(errno);
  if (rename(path_.c_str(), target_.c_str()) != 0) fail(errno);
  close(std::exchange(fd_, -1));
}

void NewFile::fail(int reason) const {
  throw Error(Code::kEnvironment, cat("cannot write '", target_, "': ", std::strerror(reason)));
}

}  // namespace rtrain
