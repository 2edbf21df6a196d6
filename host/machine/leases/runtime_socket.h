// host/machine/leases/runtime_socket.h: Unix sockets with a name in the user's runtime folder.
//
// Only processes of the same user get through: the folder is theirs, and who connects is looked at.
// None of the descriptors blocks; all are close-on-exec.
#pragma once

#include <cstdint>
#include <string>

namespace rtrain::machine {

class RuntimeSocket {
 public:
  // Listens, and replaces a socket or file of that name. `type`: SOCK_STREAM or SOCK_SEQPACKET.
  // Throws kEnvironment.
  RuntimeSocket(const std::string& name, int type);
  // Removes the name, unless another process has taken it meanwhile.
  ~RuntimeSocket();
  RuntimeSocket(const RuntimeSocket&) = delete;
  RuntimeSocket& operator=(const RuntimeSocket&) = delete;

  // Gives the listening descriptor away; once.
  int take_fd();

 private:
  std::string path_;
  uint64_t inode_ = 0;
  int fd_ = -1;
};

// The next connection of this user that waits; -1 when none does.
int accept_runtime_socket(int listener);

// Connects to a socket of the runtime folder; -1 when no process listens there. `errno` says why.
int connect_runtime_socket(const std::string& name, int type);

}  // namespace rtrain::machine
