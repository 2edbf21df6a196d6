#include "host/machine/leases/runtime_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/machine/leases/runtime_folder.h"

namespace rtrain::machine {
namespace {

constexpr int kBacklog = 128;

[[noreturn]] void fail(std::string_view what, const std::string& path) {
  const int reason = errno;
  throw Error(Code::kEnvironment, cat("cannot ", what, " ", path, ": ", std::strerror(reason)));
}

// An address of a socket holds only some hundred bytes, so it names the folder by a descriptor.
class Address {
 public:
  Address(const std::string& folder, const std::string& name)
      : folder_(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    address_.sun_family = AF_UNIX;
    const std::string path = cat("/proc/self/fd/", folder_, "/", name);
    std::strncpy(address_.sun_path, path.c_str(), sizeof(address_.sun_path) - 1);
  }
  ~Address() {
    if (folder_ >= 0) ::close(folder_);
  }
  Address(const Address&) = delete;
  Address& operator=(const Address&) = delete;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  static constexpr socklen_t size() { return sizeof(sockaddr_un); }

 private:
  int folder_;
  sockaddr_un address_{};
};

// Non-blocking, because a stopped process accepts no connections.
int new_socket(int type) { return socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

bool is_own_user(int fd) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == geteuid() || peer.uid == 0;
}

uint64_t inode_of(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

}  // namespace

// Listens first and gets its name after that: if a named socket refuses, its process has ended.
RuntimeSocket::RuntimeSocket(const std::string& name, int type)
    : path_(cat(runtime_folder(), "/", name)) {
  const std::string folder = runtime_folder();
  const std::string early_name = cat(name, ".", getpid());
  const std::string early = cat(folder, "/", early_name);
  unlink(early.c_str());
  fd_ = new_socket(type);
  if (fd_ < 0) fail("make the socket", path_);
  const Address address(folder, early_name);
  if (bind(fd_, address.get(), Address::size()) != 0 || listen(fd_, kBacklog) != 0 ||
      std::rename(early.c_str(), path_.c_str()) != 0) {
    const int reason = errno;
    ::close(fd_);
    unlink(early.c_str());
    errno = reason;
    fail("listen at the socket", path_);
  }
  inode_ = inode_of(path_);
}

RuntimeSocket::~RuntimeSocket() {
  if (fd_ >= 0) ::close(fd_);
  if (inode_of(path_) == inode_) unlink(path_.c_str());
}

int RuntimeSocket::take_fd() { return std::exchange(fd_, -1); }

int accept_runtime_socket(int listener) {
  for (;;) {
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && errno == EINTR) continue;
    if (fd < 0 || is_own_user(fd)) return fd;
    ::close(fd);
  }
}

int connect_runtime_socket(const std::string& name, int type) {
  const int fd = new_socket(type);
  const Address address(runtime_folder(), name);
  if (fd < 0 || connect(fd, address.get(), Address::size()) == 0) return fd;
  const int reason = errno;
  ::close(fd);
  errno = reason;
  return -1;
}

}  // namespace rtrain::machine
