#include "host/node/join_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "host/base/text/text.h"
#include "host/loop/channel/descriptor_message.h"
#include "host/machine/processes/build_id.h"

namespace rtrain::node {

struct JoinServer::Peer {
  std::unique_ptr<loop::Poll> poll;
  int local_rank = -1;  // -1 until the process has sent it
  bool is_closed = false;
};

JoinServer::JoinServer(loop::Loop& loop, const JoinSpec& spec)
    : loop_(loop),
      spec_(spec),
      endpoints_(static_cast<size_t>(spec.num_ranks)),
      listener_(loop, spec.socket, SOCK_SEQPACKET, [this](int fd) { on_connection(fd); }) {}

JoinServer::~JoinServer() { withdraw(); }

void JoinServer::begin(int64_t fit) { fit_ = fit; }

void JoinServer::offer(int local_rank, int fd) {
  Endpoint& endpoint = endpoints_.at(static_cast<size_t>(local_rank));
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

void JoinServer::end(const message::Ended& ended) {
  fit_ = 0;
  dismiss_all(ended);
  for (Endpoint& endpoint : endpoints_) endpoint.is_left = false;
}

void JoinServer::close(message::ToJoined answer) {
  if (answer_) return;
  answer_ = std::move(answer);
  dismiss_all(*answer_);
}

// Destroys closed connections here, because they must not be destroyed inside their own calls.
void JoinServer::on_connection(int fd) {
  std::erase_if(peers_, [](const auto& peer) { return peer->is_closed; });
  peers_.push_back(std::make_unique<Peer>());
  Peer& peer = *peers_.back();
  peer.poll = std::make_unique<loop::Poll>(loop_, fd, [this, &peer](int) { on_packet(peer); });
  peer.poll->start(UV_READABLE);
}

void JoinServer::on_packet(Peer& peer) {
  loop::DescriptorMessage message;
  const loop::Received received = loop::receive_descriptor_message(peer.poll->fd(), message);
  if (received == loop::Received::kNothing) return;
  if (received == loop::Received::kEnd || peer.local_rank >= 0) return leave(peer);
  try {
    take_in(peer, from_value<message::Join>(std::move(message.value)));
  } catch (const Error& e) {
    dismiss(peer, message::Refused{.error = e});
  }
}

// A process that is already at the script's next fit() is sent away and connects again.
void JoinServer::take_in(Peer& peer, const message::Join& join) {
  if (join.build_id != machine::build_id()) {
    throw Error(Code::kEnvironment,
                cat("rank ", join.rank, " is another build of rtrain than the run's"));
  }
  if (answer_) return dismiss(peer, *answer_);
  if (join.fit != fit_) return leave(peer);
  if (join.local_rank < spec_.first_joined || join.local_rank >= spec_.num_ranks) {
    throw Error(Code::kConfig, cat("rank ", join.rank, " says that its local rank is ",
                                   join.local_rank, ": this node has ", spec_.num_ranks,
                                   " processes of the job, and those that "
                                   "join are ",
                                   spec_.first_joined, " to ", spec_.num_ranks - 1));
  }
  Endpoint& endpoint = endpoints_[static_cast<size_t>(join.local_rank)];
  if (endpoint.taker != nullptr) {
    throw Error(Code::kConfig, cat("rank ", join.rank, ": another process has local rank ",
                                   join.local_rank, " already"));
  }
  peer.local_rank = join.local_rank;
  endpoint.taker = &peer;
  endpoint.is_left = false;
  give(endpoint);
}

void JoinServer::dismiss(Peer& peer, const message::ToJoined& answer) {
  loop::send_descriptor_message(peer.poll->fd(), to_value(answer));
  leave(peer);
}

void JoinServer::dismiss_all(const message::ToJoined& answer) {
  for (const Endpoint& endpoint : endpoints_) {
    if (endpoint.taker != nullptr) dismiss(*endpoint.taker, answer);
  }
}

void JoinServer::leave(Peer& peer) {
  peer.is_closed = true;
  if (peer.local_rank >= 0) {
    Endpoint& endpoint = endpoints_[static_cast<size_t>(peer.local_rank)];
    endpoint.taker = nullptr;
    endpoint.is_left = true;
  }
  peer.poll->close();
}

void JoinServer::give(Endpoint& endpoint) {
  if (endpoint.taker == nullptr || endpoint.fd < 0) return;
  loop::send_descriptor_message(endpoint.taker->poll->fd(), to_value(message::Endpoint{}),
                                {endpoint.fd});
  ::close(std::exchange(endpoint.fd, -1));
}

}  // namespace rtrain::node
