#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <future>
#include <memory>
#include <thread>

#include "host/base/files/fd.h"
#include "host/base/text/text.h"
#include "host/cli/machine/doctor_check.h"
#include "host/machine/machine.h"
#include "host/machine/network.h"

namespace rtrain::cli {
namespace {

// Whether a connection to a port of this node can be made.
bool connects_over_loopback() {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::bind(listener.get(), generic, size) == 0 && ::listen(listener.get(), 1) == 0 &&
         ::getsockname(listener.get(), generic, &size) == 0 &&
         ::connect(client.get(), generic, size) == 0;
}

Check check_loopback() {
  if (connects_over_loopback())
    return {"loopback", CheckStatus::kOk, "127.0.0.1 accepts connections"};
  return {"loopback", CheckStatus::kFailure, cat("127.0.0.1: ", std::strerror(errno)),
          "Gloo and NCCL of one node use it: ip link set lo up, or allow it in the sandbox"};
}

// Runs in a thread that may be abandoned, because getaddrinfo may wait for servers without limit.
std::future<int> ask_for_name(const std::string& name) {
  std::promise<int> answer;
  std::future<int> out = answer.get_future();
  std::thread([name, answer = std::move(answer)]() mutable {
    addrinfo* found = nullptr;
    const int error = ::getaddrinfo(name.c_str(), nullptr, nullptr, &found);
    if (error == 0) ::freeaddrinfo(found);
    answer.set_value(error);
  }).detach();
  return out;
}

Check check_name() {
  constexpr std::chrono::seconds kPatience{3};
  const std::string name = machine::hostname();
  const std::vector<std::string> addresses = machine::own_addresses();
  const std::string mend = cat("only runs over several nodes need it: add '",
                               addresses.empty() ? "ADDRESS" : addresses[0], " ", name,
                               "' to /etc/hosts, or set RTRAIN_MASTER_ADDR to an address");
  std::future<int> answer = ask_for_name(name);
  if (answer.wait_for(kPatience) != std::future_status::ready) {
    return {"host name", CheckStatus::kWarning, cat(name, ": no answer within 3 s"), mend};
  }
  const int error = answer.get();
  if (error != 0) {
    return {"host name", CheckStatus::kWarning, cat(name, ": ", ::gai_strerror(error)), mend};
  }
  return {"host name", CheckStatus::kOk,
          cat(name, addresses.empty() ? ", loopback alone" : cat(", ", join(addresses, ", ")))};
}

}  // namespace

std::vector<Check> check_network() { return {check_loopback(), check_name()}; }

}  // namespace rtrain::cli
