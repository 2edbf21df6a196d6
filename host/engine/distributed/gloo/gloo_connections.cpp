#include "host/engine/distributed/gloo/gloo_connections.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>

namespace rtrain::engine {
namespace {

constexpr std::chrono::milliseconds kRead{50};
constexpr std::chrono::milliseconds kLook{1};

std::mutex living_mutex;
std::vector<GlooConnections*>& living() {
  static std::vector<GlooConnections*> all;
  return all;
}

std::optional<ino_t> tcp_socket(int fd, int (*address)(int, sockaddr*, socklen_t*)) {
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISSOCK(info.st_mode)) return std::nullopt;
  sockaddr_storage found{};
  socklen_t size = sizeof(found);
  if (address(fd, reinterpret_cast<sockaddr*>(&found), &size) != 0) return std::nullopt;
  if (found.ss_family != AF_INET && found.ss_family != AF_INET6) return std::nullopt;
  return info.st_ino;
}

std::optional<ino_t> connection(int fd) { return tcp_socket(fd, &getpeername); }

void for_each_descriptor(const std::function<void(int fd)>& call) {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) call(std::atoi(entry->d_name));
  closedir(folder);
}

void for_each_connection(const std::function<void(int fd, ino_t inode)>& call) {
  for_each_descriptor([&](int fd) {
    if (const auto inode = connection(fd)) call(fd, *inode);
  });
}

// Sets FD_CLOEXEC: Gloo's sockets, including the listening one, would be inherited by programs that
// a worker starts.
void keep_sockets_from_programs() {
  for_each_descriptor([](int fd) {
    if (tcp_socket(fd, &getsockname)) fcntl(fd, F_SETFD, FD_CLOEXEC);
  });
}

// The numeric address; "" for this machine's own one.
std::string address_text(int fd, int (*address)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage found{};
  socklen_t size = sizeof(found);
  if (address(fd, reinterpret_cast<sockaddr*>(&found), &size) != 0) return "";
  char text[INET6_ADDRSTRLEN] = "";
  if (found.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(found).sin_addr;
    constexpr int kNetShift = 24;
    if (ntohl(four.s_addr) >> kNetShift == IN_LOOPBACKNET) return "";
    inet_ntop(AF_INET, &four, text, sizeof(text));
  } else if (found.ss_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(found).sin6_addr;
    if (IN6_IS_ADDR_LOOPBACK(&six)) return "";
    inet_ntop(AF_INET6, &six, text, sizeof(text));
  }
  return text;
}

std::optional<api::LinkReading> reading_of(int fd) {
  api::LinkReading out{.own = address_text(fd, &getsockname),
                       .peer = address_text(fd, &getpeername)};
  tcp_info info{};
  socklen_t size = sizeof(info);
  int waiting = 0;
  if (out.peer.empty() || out.own == out.peer || ioctl(fd, TIOCOUTQ, &waiting) != 0 ||
      getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) {
    return std::nullopt;
  }
  out.bytes = info.tcpi_bytes_acked;
  out.waiting = static_cast<uint64_t>(waiting);
  return out;
}

}  // namespace

GlooConnections::GlooConnections() {
  const std::lock_guard lock(living_mutex);
  living().push_back(this);
}

GlooConnections::~GlooConnections() {
  const std::lock_guard lock(living_mutex);
  std::erase(living(), this);
}

void GlooConnections::begin() {
  const std::lock_guard lock(mutex_);
  is_connecting_ = true;
  for_each_connection([this](int, ino_t inode) { known_.insert(inode); });
}

void GlooConnections::end() {
  const std::lock_guard lock(mutex_);
  if (is_connecting_) take();
  keep_sockets_from_programs();
  is_connecting_ = false;
  if (is_cut_) shut();
}

void GlooConnections::take() {
  for_each_connection([this](int fd, ino_t inode) {
    if (!known_.insert(inode).second) return;
    Fd own(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (own.is_open() && connection(own.get()) == inode) sockets_.push_back(std::move(own));
  });
}

void GlooConnections::shut() noexcept {
  for (const Fd& each : sockets_) ::shutdown(each.get(), SHUT_RDWR);
}

// Gloo may still copy received bytes into a tensor. Waits until it has read them.
void GlooConnections::wait_for_readers() const noexcept {
  const auto end = std::chrono::steady_clock::now() + kRead;
  for (const Fd& each : sockets_) {
    int left = 0;
    while (ioctl(each.get(), FIONREAD, &left) == 0 && left > 0) {
      if (std::chrono::steady_clock::now() > end) return;
      std::this_thread::sleep_for(kLook);
    }
  }
}

GlooConnections::Calls GlooConnections::cut() noexcept {
  const std::lock_guard lock(mutex_);
  is_cut_ = true;
  if (is_connecting_) take();
  shut();
  if (!calls_.empty()) wait_for_readers();
  Calls out;
  for (auto& [number, call] : calls_) out.push_back(std::move(call));
  calls_.clear();
  return out;
}

uint64_t GlooConnections::on_cut(std::function<void()> call) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_cut_) {
      calls_.emplace(++num_calls_, std::move(call));
      return num_calls_;
    }
  }
  call();
  return 0;
}

void GlooConnections::forget(uint64_t on_cut) {
  std::function<void()> call;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(on_cut);
  if (found == calls_.end()) return;
  call = std::move(found->second);
  calls_.erase(found);
}

bool GlooConnections::is_cut() const {
  const std::lock_guard lock(mutex_);
  return is_cut_;
}

void GlooConnections::read(std::vector<api::LinkReading>& out) const {
  const std::lock_guard lock(mutex_);
  for (const Fd& each : sockets_) {
    if (auto reading = reading_of(each.get())) out.push_back(std::move(*reading));
  }
}

void GlooConnections::release() {
  const std::lock_guard lock(mutex_);
  is_connecting_ = false;
  sockets_.clear();
}

void read_gloo_connections(std::vector<api::LinkReading>& out) {
  const std::lock_guard lock(living_mutex);
  for (const GlooConnections* each : living()) each->read(out);
}

void cut_gloo_connections() noexcept {
  GlooConnections::Calls calls;
  {
    const std::lock_guard lock(living_mutex);
    for (GlooConnections* each : living()) {
      for (auto& call : each->cut()) calls.push_back(std::move(call));
    }
  }
  for (const auto& call : calls) call();
}

}  // namespace rtrain::engine
