// rtrain reach: checks the way from the nodes of a job to node 0's port, before the job starts.
//
// `rtrain reach --listen N` answers N nodes there, for some seconds at most; on the other nodes
// `rtrain reach ADDRESS…` asks at each address, and prints the first that answers. Neither sends
// anything but the token, which anyone may know: it tells the job's listener from another program
// at the same port.
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <vector>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/files/fd.h"
#include "host/base/text/text.h"
#include "host/cli/parser/command.h"

namespace rtrain::cli {
namespace {

constexpr int kPorts = 17;  // as many as a job's server tries (WireServerOptions::more_ports)
constexpr int kConnectMs = 2000;
constexpr int kPauseMs = 100;

struct ReachOptions {
  std::vector<std::string> addresses;
  std::string token;
  int port = 0;
  double seconds = 0;
  int listen = 0;  // how many nodes ask; 0: this one asks
};

bool wait_for(int fd, short events, int timeout_ms) {
  pollfd poll{.fd = fd, .events = events, .revents = 0};
  return ::poll(&poll, 1, timeout_ms) == 1;
}

Fd listen_at(int first_port) {
  for (int port = first_port; port < first_port + kPorts; ++port) {
    Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        ::listen(fd.get(), SOMAXCONN) == 0) {
      return fd;
    }
  }
  throw Error(Code::kEnvironment, cat("no port from ", first_port, " to ", first_port + kPorts - 1,
                                      " is free: ", std::string_view(std::strerror(errno))));
}

void answer(const ReachOptions& options) {
  const Fd listener = listen_at(options.port);
  const double end_s = monotonic_s() + options.seconds;
  for (int left = options.listen; left > 0 && monotonic_s() < end_s;) {
    if (!wait_for(listener.get(), POLLIN, kPauseMs)) continue;
    const Fd peer(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!peer.is_open()) continue;
    const auto sent = ::send(peer.get(), options.token.data(), options.token.size(), MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(options.token.size())) --left;
  }
}

// Returns the problem, or "".
std::string ask_address(const addrinfo& address, const std::string& token) {
  const Fd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(fd.get(), address.ai_addr, address.ai_addrlen) != 0 && errno != EINPROGRESS) {
    return std::strerror(errno);
  }
  if (!wait_for(fd.get(), POLLOUT, kConnectMs)) return "it does not answer";
  int problem = 0;
  socklen_t size = sizeof problem;
  ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &problem, &size);
  if (problem != 0) return std::strerror(problem);
  if (!wait_for(fd.get(), POLLIN, kConnectMs)) return "another program answers";
  std::array<char, 256> bytes{};
  const ssize_t n = ::recv(fd.get(), bytes.data(), bytes.size(), 0);
  const bool is_ours = n > 0 && token == std::string_view(bytes.data(), static_cast<size_t>(n));
  return is_ours ? "" : "another program answers";
}

std::string ask(const std::string& host, int port, const std::string& token) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failure = ::getaddrinfo(host.c_str(), cat(port).c_str(), &hints, &found)) {
    return ::gai_strerror(failure);
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, &::freeaddrinfo);
  return ask_address(*list, token);
}

// Asks at all addresses, again and again: the listener may have begun a moment later.
void find_way(const ReachOptions& options) {
  const double end_s = monotonic_s() + options.seconds;
  std::vector<std::string> problems;
  do {
    problems.clear();
    for (const std::string& address : options.addresses) {
      std::string problem;
      for (int port = options.port; port < options.port + kPorts; ++port) {
        problem = ask(address, port, options.token);
        if (problem.empty()) {
          std::cout << "reached " << address << "\n";
          return;
        }
        if (problem != "another program answers") break;
      }
      problems.push_back(cat(address, ":", options.port, ": ", problem));
    }
    ::poll(nullptr, 0, kPauseMs);
  } while (monotonic_s() < end_s);
  throw Error(Code::kEnvironment, join(problems, "; "));
}

}  // namespace

void add_reach(Parser& parser) {
  auto options = std::make_shared<ReachOptions>();
  Command command = parser.command("reach", "Check the way to node 0 of a job");
  command.hide();
  command.argument("ADDRESS", &options->addresses, "addresses of node 0");
  command.option("--listen", &options->listen, "answer that many nodes, on node 0").at_least(1);
  command.option("--token", &options->token, "the job").required();
  command.option("--port", &options->port, "of node 0").required().at_least(1);
  command.option("--seconds", &options->seconds, "how long to try, or to answer").required();
  command.action([options] { options->listen > 0 ? answer(*options) : find_way(*options); });
}

}  // namespace rtrain::cli
