// host/machine/leases/runtime_socket.h: Unix sockets with a name in the user's runtime folder.
//
// Only processes of the same user can connect: the folder is theirs, and the peer's user is
// checked. No descriptor blocks; all are close-on-exec.
#pragma once

#include <cstdint>
#include <string>

namespace rtrain::machine {

class RuntimeSocket {
 public:
  // Listens, and replaces a socket or file of that name. `type` is SOCK_STREAM or SOCK_SEQPACKET.
  // Throws Error(kEnvironment).
  RuntimeSocket(const std::string& name, int type);
  // Removes the name, unless another process has taken it meanwhile.
  ~RuntimeSocket();
  RuntimeSocket(const RuntimeSocket&) = delete;
  RuntimeSocket& operator=(const RuntimeSocket&) = delete;

  // Gives the listening descriptor to the caller, once.
  int take_fd();

 private:
  std::string path_;
  uint64_t inode_ = 0;
  int fd_ = -1;
};

// Accepts the next waiting connection of this user; -1 when there is none.
int accept_runtime_socket(int listener);

// Connects to a socket of the runtime folder. Returns -1 when no process listens; sets `errno`.
int connect_runtime_socket(const std::string& name, int type);

}  // namespace rtrain::machine
