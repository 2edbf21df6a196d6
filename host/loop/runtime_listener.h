// host/loop/runtime_listener.h: takes the connections to a socket of the runtime folder.
//
// While this process has no descriptor left for a connection it waits in the kernel's queue, and
// the loop continues with its other work. Belongs to the loop's thread.
#pragma once

#include <functional>
#include <string>

#include "host/loop/poll.h"
#include "host/loop/timer.h"
#include "host/machine/leases/runtime_socket.h"

namespace rtrain::loop {

class RuntimeListener {
 public:
  // Owns the connection's descriptor, which does not block.
  using OnConnection = std::function<void(int fd)>;

  // `name`, `type`: as RuntimeSocket has them. Throws kEnvironment.
  RuntimeListener(Loop& loop, const std::string& name, int type, OnConnection on_connection);

 private:
  void accept();

  machine::RuntimeSocket socket_;
  OnConnection on_connection_;
  Poll poll_;
  Timer again_;
};

}  // namespace rtrain::loop
