#include "host/machine/network.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <memory>

namespace rtrain::machine {
namespace {

struct Address {
  std::string interface;
  std::string text;
  int family;
  bool is_local;  // other nodes cannot reach it
};

std::string text_of(const sockaddr& address) {
  char text[INET6_ADDRSTRLEN] = "";
  const void* bytes = nullptr;
  if (address.sa_family == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
  } else {
    bytes = &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  }
  return inet_ntop(address.sa_family, bytes, text, sizeof(text)) == nullptr ? "" : text;
}

bool is_link_local(const sockaddr& address) {
  return address.sa_family == AF_INET6 &&
         IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

std::vector<Address> all_addresses() {
  std::vector<Address> out;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return out;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, freeifaddrs);
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || (at->ifa_flags & IFF_UP) == 0) continue;
    const int family = at->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const bool is_local = (at->ifa_flags & IFF_LOOPBACK) != 0 || is_link_local(*at->ifa_addr);
    out.push_back({at->ifa_name, text_of(*at->ifa_addr), family, is_local});
  }
  return out;
}

// Returns the name of the interface with the numeric address: "eth0"; "" if no interface has it.
std::string interface_of(const std::string& address) {
  for (const Address& each : all_addresses()) {
    if (each.text == address) return each.interface;
  }
  return "";
}

}  // namespace

std::vector<std::string> own_addresses() {
  std::vector<std::string> out;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const Address& address : all_addresses()) {
      if (address.family == family && !address.is_local) out.push_back(address.text);
    }
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> interface_settings(const std::string& address) {
  const std::string interface = address.empty() ? "" : interface_of(address);
  if (interface.empty()) return {};
  return {{"GLOO_SOCKET_IFNAME", interface}, {"NCCL_SOCKET_IFNAME", interface}};
}

}  // namespace rtrain::machine
