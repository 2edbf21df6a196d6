#include "host/train/control_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "host/base/codec/record.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/machine/leases/runtime_folder.h"

namespace rtrain::train {
namespace {

constexpr std::string_view kSuffix = ".sock";
constexpr size_t kNameLength = 16;

// Removes sockets that refuse connections: a socket gets its name only once a process listens on
// it, so that process must have ended.
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

}  // namespace

class ControlServer::Peer {
 public:
  Peer(loop::Loop& loop, int fd, loop::Channel::OnMessage on_message)
      : channel_(loop, fd, std::move(on_message), [this](const std::string&) { closed_ = true; }) {}

  bool is_closed() const { return closed_; }
  void send(const Value& message) {
    try {
      channel_.send(message);
    } catch (const Error& e) {  // the reply exceeds the frame cap
      channel_.send(Map{{"error", error_to_value(e)}});
    }
  }

 private:
  bool closed_ = false;
  loop::Channel channel_;
};

ControlServer::ControlServer(loop::Loop& loop, const std::string& run_id, Handler handler)
    : loop_(loop), handler_(std::move(handler)) {
  remove_stale(machine::runtime_folder());
  listener_ = std::make_unique<loop::RuntimeListener>(
      loop, control_socket_name(run_id), SOCK_STREAM, [this](int fd) { on_connection(fd); });
}

void ControlServer::on_connection(int fd) {
  remove_closed();
  auto self = std::make_shared<std::weak_ptr<Peer>>();
  auto peer = std::make_shared<Peer>(loop_, fd, [this, self](Value request) {
    if (const auto asking = self->lock()) on_request(asking, std::move(request));
  });
  *self = peer;
  peers_.push_back(std::move(peer));
}

// Deleted here, because a channel must not be deleted inside its own callback.
void ControlServer::remove_closed() {
  std::erase_if(peers_, [](const auto& peer) { return peer->is_closed(); });
}

void ControlServer::on_request(const std::shared_ptr<Peer>& peer, Value request) {
  answer(handler_, std::move(request), [weak = std::weak_ptr(peer)](const Value& reply) {
    if (const auto asking = weak.lock()) asking->send(reply);
  });
}

void ControlServer::answer(const Handler& handler, Value request,
                           std::function<void(const Value& reply)> send) {
  try {
    const std::string op = request["op"].string_or("");
    const Reply reply = [send](Value value) { send(Map{{"value", std::move(value)}}); };
    if (handler(op, std::move(request), reply)) return;
    throw Error(Code::kUnsupported, cat("this run's controller does not know '", op,
                                        "': it is another version of rtrain"));
  } catch (const Error& e) {
    send(Map{{"error", error_to_value(e)}});
  }
}

std::string control_socket_name(const std::string& run_id) {
  return cat(run_id.substr(0, kNameLength), kSuffix);
}

int connect_control_socket(const std::string& name) {
  return machine::connect_runtime_socket(name, SOCK_STREAM);
}

}  // namespace rtrain::train
