// host/node/join_server.h: the ranks of this host whose processes a launcher (torchrun, Slurm, …)
// has started.
//
// The processes connect to a socket of the runtime folder whose name all of them make from the
// launcher's variables, and say which one they are. Each is sent the end of its channel at every
// attempt, and at last what became of the run (host/loop/messages/join.h). A process that is at
// another fit() of the script comes again.
//
// Belongs to the loop's thread.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "host/base/error.h"
#include "host/loop/loop.h"
#include "host/loop/messages/join.h"
#include "host/loop/runtime_listener.h"
#include "host/node/job_spec.h"
#include "host/node/workers/worker_endpoints.h"

namespace rtrain {

class JoinServer : public WorkerEndpoints {
 public:
  // Throws kEnvironment.
  JoinServer(Loop& loop, const JoinSpec& spec);
  // A connection that was not taken is closed.
  ~JoinServer() override;

  // Takes processes at that fit() of the script.
  void begin(int64_t fit);
  // Goes to the rank's process as soon as that is there. A rank whose process has left finds no
  // taker: its channel closes.
  void offer(int local_rank, int fd) override;
  void withdraw() override;
  // The fit() is over: the last message to everybody.
  void end(const message::Ended& ended);
  // The answer to whoever is there and whoever comes later: no fit() begins any more.
  void close(message::ToJoined answer);

 private:
  struct Peer;
  struct Endpoint {
    Peer* taker = nullptr;
    int fd = -1;
    bool is_left = false;  // its process was there, and has gone
  };

  void on_connection(int fd);
  void on_packet(Peer& peer);
  void take_in(Peer& peer, const message::Join& join);
  void dismiss(Peer& peer, const message::ToJoined& answer);
  void dismiss_all(const message::ToJoined& answer);
  void leave(Peer& peer);
  void give(Endpoint& endpoint);

  Loop& loop_;
  JoinSpec spec_;
  int64_t fit_ = 0;  // none
  std::optional<message::ToJoined> answer_;
  std::vector<Endpoint> endpoints_;  // by local rank
  std::vector<std::unique_ptr<Peer>> peers_;
  RuntimeListener listener_;
};

}  // namespace rtrain
