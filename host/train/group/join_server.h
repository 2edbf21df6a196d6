// host/train/group/join_server.h: the endpoints of a group whose processes another launcher
// (torchrun) has started.
//
// The processes of ranks above 0 connect once for a run, to a socket of the runtime folder whose
// name all of them make from the launcher's variables, and say their rank. Each is sent the end of
// its channel at every attempt, and at last what became of the run (host/loop/messages/join.h).
//
// Belongs to the control thread.
#pragma once

#include <memory>
#include <vector>

#include "host/base/error.h"
#include "host/base/value.h"
#include "host/loop/loop.h"
#include "host/loop/messages/join.h"
#include "host/loop/poll.h"
#include "host/machine/runtime_socket.h"
#include "host/train/run_spec.h"

namespace rtrain {

class JoinServer {
 public:
  // Throws kEnvironment.
  JoinServer(Loop& loop, const JoinSpec& spec, int world_size);
  // What nobody took is closed.
  ~JoinServer();

  // The rank's end of its channel: goes to its process as soon as that is there. A rank whose
  // process has left finds no taker: its channel closes. Owns the descriptor.
  void offer(int rank, int fd);
  // Closes what nobody has taken.
  void withdraw();
  // The last message to everybody, out of the event `finished`.
  void end(const Map& finished);

 private:
  struct Peer;
  struct Endpoint {
    Peer* taker = nullptr;
    int fd = -1;
    bool is_left = false;  // its process was there, and has gone
  };

  void on_ready();
  void on_packet(Peer& peer);
  void take_in(Peer& peer, const message::Join& join);
  void refuse(Peer& peer, const Error& error);
  void leave(Peer& peer);
  void give(Endpoint& endpoint);

  Loop& loop_;
  JoinSpec spec_;
  RuntimeSocket socket_;
  std::vector<Endpoint> endpoints_;  // by rank
  std::vector<std::unique_ptr<Peer>> peers_;
  Poll listener_;
};

}  // namespace rtrain
