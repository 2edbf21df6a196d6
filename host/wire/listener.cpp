#include "host/wire/listener.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::wire {
namespace {

constexpr int kLastPort = 65535;

}  // namespace

Fd try_listen(const SocketAddress& address) {
  Fd out(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!out.is_open()) return out;
  const int on = 1;
  ::setsockopt(out.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(out.get(), address.get(), address.size()) == 0 &&
      ::listen(out.get(), SOMAXCONN) == 0) {
    return out;
  }
  const int reason = errno;
  out = Fd();
  errno = reason;
  return out;
}

Fd listen_at(SocketAddress address, int more_ports) {
  const int first = address.port();
  const int last = first == 0 ? 0 : std::min(first + more_ports, kLastPort);
  for (int port = first; port <= last; ++port) {
    address.set_port(port);
    if (Fd out = try_listen(address); out.is_open()) return out;
    if (errno != EADDRINUSE) break;
  }
  const int reason = errno;
  throw Error(Code::kEnvironment,
              cat("cannot listen at ", address.host(), ", port",
                  last > first ? cat("s ", first, " to ", last) : cat(" ", first), ": ",
                  std::string_view(std::strerror(reason))));
}

}  // namespace rtrain::wire
