#include "host/train/control_server.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "host/base/error.h"
#include "host/base/runtime_folder.h"
#include "host/base/text.h"
#include "host/loop/message.h"

namespace rtrain {
namespace {

constexpr std::string_view kSuffix = ".sock";
constexpr size_t kNameLength = 16;
constexpr int kBacklog = 16;

[[noreturn]] void fail(std::string_view what, const std::string& path) {
  const int reason = errno;
  throw Error(Code::kEnvironment, cat("cannot ", what, " ", path, ": ", std::strerror(reason)));
}

// A socket address has room for some hundred bytes: the folder is named by a descriptor.
class Address {
 public:
  Address(const std::string& folder, const std::string& name)
      : folder_(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    address_.sun_family = AF_UNIX;
    const std::string path = cat("/proc/self/fd/", folder_, "/", name);
    std::strncpy(address_.sun_path, path.c_str(), sizeof(address_.sun_path) - 1);
  }
  ~Address() {
    if (folder_ >= 0) ::close(folder_);
  }
  Address(const Address&) = delete;
  Address& operator=(const Address&) = delete;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  static constexpr socklen_t size() { return sizeof(sockaddr_un); }

 private:
  int folder_;
  sockaddr_un address_{};
};

// Not blocking: a controller that is stopped takes no connections.
int new_socket() { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

bool is_own_user(int fd) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == geteuid() || peer.uid == 0;
}

// Sockets get their names when they listen already, so one that refuses has no process behind it.
void remove_stale(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    if (!entry.is_socket(ignored) || !name.ends_with(kSuffix)) continue;
    const int fd = connect_control_socket(name);
    if (fd >= 0) {
      ::close(fd);
    } else if (errno == ECONNREFUSED) {
      unlink(entry.path().c_str());
    }
  }
}

uint64_t inode_of(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

// Listens, and only then gets its name.
int listen_at(const std::string& folder, const std::string& name) {
  const std::string early = cat(name, ".", getpid());
  const std::string path = cat(folder, "/", early);
  unlink(path.c_str());
  const int fd = new_socket();
  if (fd < 0) fail("make the socket", path);
  const Address address(folder, early);
  if (bind(fd, address.get(), Address::size()) != 0 || listen(fd, kBacklog) != 0 ||
      rename(path.c_str(), cat(folder, "/", name).c_str()) != 0) {
    const int reason = errno;
    ::close(fd);
    unlink(path.c_str());
    errno = reason;
    fail("listen at the socket", path);
  }
  return fd;
}

}  // namespace

class ControlServer::Peer {
 public:
  Peer(Loop& loop, int fd, Channel::OnMessage on_message)
      : channel_(loop, fd, std::move(on_message), [this](const std::string&) { closed_ = true; }) {}

  bool is_closed() const { return closed_; }
  void send(const Value& message) {
    try {
      channel_.send(message);
    } catch (const Error& e) {  // larger than a frame may be
      channel_.send(Map{{"error", error_to_value(e, 0)}});
    }
  }

 private:
  bool closed_ = false;
  Channel channel_;
};

ControlServer::ControlServer(Loop& loop, const std::string& run_id) : loop_(loop) {
  const std::string folder = runtime_folder();
  const std::string name = control_socket_name(run_id);
  remove_stale(folder);
  path_ = cat(folder, "/", name);
  const int fd = listen_at(folder, name);
  inode_ = inode_of(path_);
  listener_ = std::make_unique<Poll>(loop, fd, [this](int) { on_ready(); });
  listener_->start(UV_READABLE);
}

ControlServer::~ControlServer() {
  // Not that of another controller that has taken the run over.
  if (inode_of(path_) == inode_) unlink(path_.c_str());
}

void ControlServer::add(const std::string& op, Handler handler) {
  handlers_[op] = std::move(handler);
}

void ControlServer::on_ready() {
  remove_closed();
  for (;;) {
    const int fd = accept4(listener_->fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && errno == EINTR) continue;
    if (fd < 0) return;
    if (!is_own_user(fd)) {
      ::close(fd);
      continue;
    }
    auto self = std::make_shared<std::weak_ptr<Peer>>();
    auto peer = std::make_shared<Peer>(loop_, fd, [this, self](const Value& request) {
      if (const auto asking = self->lock()) on_request(asking, request);
    });
    *self = peer;
    peers_.push_back(std::move(peer));
  }
}

// Not from inside a channel's callback: who has closed stays until the next one comes.
void ControlServer::remove_closed() {
  std::erase_if(peers_, [](const auto& peer) { return peer->is_closed(); });
}

void ControlServer::on_request(const std::shared_ptr<Peer>& peer, const Value& request) {
  const Reply reply = [weak = std::weak_ptr(peer)](Value value) {
    if (const auto asking = weak.lock()) asking->send(Map{{"value", std::move(value)}});
  };
  try {
    const std::string op = request["op"].string_or("");
    const auto handler = handlers_.find(op);
    if (handler == handlers_.end()) {
      throw Error(Code::kUnsupported, cat("this run's controller does not know '", op,
                                          "': it is another version of rtrain"));
    }
    handler->second(request, reply);
  } catch (const Error& e) {
    peer->send(Map{{"error", error_to_value(e, 0)}});
  }
}

std::string control_socket_name(const std::string& run_id) {
  return cat(run_id.substr(0, kNameLength), kSuffix);
}

int connect_control_socket(const std::string& name) {
  const int fd = new_socket();
  const Address address(runtime_folder(), name);
  if (fd < 0 || connect(fd, address.get(), Address::size()) == 0) return fd;
  const int reason = errno;
  ::close(fd);
  errno = reason;
  return -1;
}

}  // namespace rtrain
