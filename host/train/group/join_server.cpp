#include "host/train/group/join_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "host/base/text.h"
#include "host/loop/build_id.h"
#include "host/loop/descriptor_message.h"

namespace rtrain {
namespace {

// The rest they read from the store.
Value ended_message(const Map& finished) {
  constexpr size_t kMaxText = 16384;
  message::Ended out{.path = finished["path"].string_or("")};
  if (const Value& value = finished["error"]; !value.is_nil()) {
    const Error error = error_from_value(value);
    out.error = Error(error.code(), error.message().substr(0, kMaxText),
                      error.traceback().substr(0, kMaxText));
  }
  return to_value(std::move(out));
}

}  // namespace

struct JoinServer::Peer {
  std::unique_ptr<Poll> poll;
  int rank = -1;  // until it has said which
  bool is_closed = false;
};

JoinServer::JoinServer(Loop& loop, const JoinSpec& spec, int world_size)
    : loop_(loop),
      spec_(spec),
      socket_(spec.socket, SOCK_SEQPACKET),
      endpoints_(static_cast<size_t>(world_size)),
      listener_(loop, socket_.take_fd(), [this](int) { on_ready(); }) {
  listener_.start(UV_READABLE);
}

JoinServer::~JoinServer() { withdraw(); }

void JoinServer::offer(int rank, int fd) {
  Endpoint& endpoint = endpoints_.at(static_cast<size_t>(rank));
  if (endpoint.is_left) {
    ::close(fd);
    return;
  }
  endpoint.fd = fd;
  give(endpoint);
}

void JoinServer::withdraw() {
  for (Endpoint& endpoint : endpoints_) {
    if (endpoint.fd >= 0) ::close(std::exchange(endpoint.fd, -1));
  }
}

void JoinServer::end(const Map& finished) {
  const Value message = ended_message(finished);
  for (const Endpoint& endpoint : endpoints_) {
    if (endpoint.taker != nullptr) send_descriptor_message(endpoint.taker->poll->fd(), message);
  }
}

// The closed ones go here: not from inside their own calls.
void JoinServer::on_ready() {
  std::erase_if(peers_, [](const auto& peer) { return peer->is_closed; });
  for (;;) {
    const int fd = accept_runtime_socket(listener_.fd());
    if (fd < 0) return;
    peers_.push_back(std::make_unique<Peer>());
    Peer& peer = *peers_.back();
    peer.poll = std::make_unique<Poll>(loop_, fd, [this, &peer](int) { on_packet(peer); });
    peer.poll->start(UV_READABLE);
  }
}

void JoinServer::on_packet(Peer& peer) {
  DescriptorMessage message;
  const Received received = receive_descriptor_message(peer.poll->fd(), message);
  if (received == Received::kNothing) return;
  if (message.fd >= 0) ::close(message.fd);
  if (received == Received::kEnd || peer.rank >= 0) return leave(peer);
  try {
    take_in(peer, from_value<message::Join>(std::move(message.value)));
  } catch (const Error& e) {
    refuse(peer, e);
  }
}

// A process that is ahead, at the script's next fit(), comes again.
void JoinServer::take_in(Peer& peer, const message::Join& join) {
  const int rank = join.rank;
  if (join.build_id != build_id()) {
    throw Error(Code::kEnvironment, cat("rank ", rank, " is another build of rtrain than rank 0"));
  }
  if (join.fit != spec_.fit) return leave(peer);
  if (rank < 1 || rank >= static_cast<int>(endpoints_.size())) {
    throw Error(Code::kConfig,
                cat("RANK = ", rank, ": rank 0 was started with WORLD_SIZE = ", endpoints_.size()));
  }
  Endpoint& endpoint = endpoints_[static_cast<size_t>(rank)];
  if (endpoint.taker != nullptr) {
    throw Error(Code::kConfig, cat("RANK = ", rank, ": another process has that rank already"));
  }
  peer.rank = rank;
  endpoint.taker = &peer;
  endpoint.is_left = false;
  give(endpoint);
}

void JoinServer::refuse(Peer& peer, const Error& error) {
  send_descriptor_message(peer.poll->fd(), to_value(message::Refused{.error = error}));
  leave(peer);
}

void JoinServer::leave(Peer& peer) {
  peer.is_closed = true;
  if (peer.rank >= 0) {
    Endpoint& endpoint = endpoints_[static_cast<size_t>(peer.rank)];
    endpoint.taker = nullptr;
    endpoint.is_left = true;
  }
  peer.poll->close();
}

void JoinServer::give(Endpoint& endpoint) {
  if (endpoint.taker == nullptr || endpoint.fd < 0) return;
  send_descriptor_message(endpoint.taker->poll->fd(), to_value(message::Endpoint{}), endpoint.fd);
  ::close(std::exchange(endpoint.fd, -1));
}

}  // namespace rtrain
