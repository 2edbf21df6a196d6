// host/wire/listener.h: sockets that listen for TCP connections.
#pragma once

#include "host/base/files/fd.h"
#include "host/wire/socket_address.h"

namespace rtrain::wire {

// Returns a socket that listens at the address. Where that fails it is not open, and errno is set.
Fd try_listen(const SocketAddress& address);
// Listens at the first free port from address.port() to + more_ports. Throws Error(kEnvironment).
Fd listen_at(SocketAddress address, int more_ports);

}  // namespace rtrain::wire
