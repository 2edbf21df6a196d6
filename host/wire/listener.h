// host/wire/listener.h: sockets that listen for TCP connections.
#pragma once

#include "host/base/files/fd.h"
#include "host/wire/socket_address.h"

namespace rtrain::wire {

// Does not block. Not open where nothing can listen there: errno says why.
Fd try_listen(const SocketAddress& address);
// At the first port of address.port() … + more_ports that is free. Error(kEnvironment).
Fd listen_at(SocketAddress address, int more_ports);

}  // namespace rtrain::wire
