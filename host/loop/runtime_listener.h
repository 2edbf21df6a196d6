// host/loop/runtime_listener.h: accepts connections to a socket of the runtime folder.
//
// While this process has no free descriptor for a connection, the connection waits in the kernel's
// queue, and the loop does its other work. Belongs to the loop's thread.
#pragma once

#include <functional>
#include <string>

#include "host/loop/poll.h"
#include "host/loop/timer.h"
#include "host/machine/leases/runtime_socket.h"

namespace rtrain::loop {

class RuntimeListener {
 public:
  // The callback owns the connection's descriptor, which is non-blocking.
  using OnConnection = std::function<void(int fd)>;

  // `name` and `type` are as in RuntimeSocket. Throws Error(kEnvironment).
  RuntimeListener(Loop& loop, const std::string& name, int type, OnConnection on_connection);

 private:
  void accept();

  machine::RuntimeSocket socket_;
  OnConnection on_connection_;
  Poll poll_;
  Timer again_;
};

}  // namespace rtrain::loop
