// host/node/join_server.h: serves the ranks of this node whose processes a launcher (torchrun,
// Slurm, …) has started.
//
// The processes connect to a socket in the runtime folder, whose name all of them derive from the
// launcher's variables, and send their ranks. Each gets its end of the channel at every attempt,
// and the run's result at the end (host/loop/messages/join.h). A process that is at another fit()
// of the script connects again later.
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

namespace rtrain::node {

class JoinServer : public WorkerEndpoints {
 public:
  // Throws kEnvironment.
  JoinServer(loop::Loop& loop, const JoinSpec& spec);
  // Closes connections that were not accepted.
  ~JoinServer() override;

  // Accepts processes at that fit() of the script.
  void begin(int64_t fit);
  // Passes the endpoint to the rank's process once it has connected. If that process has left, the
  // channel is closed.
  void offer(int local_rank, int fd) override;
  void withdraw() override;
  // Ends the fit(): sends the last message to all processes.
  void end(const message::Ended& ended);
  // No further fit() begins: gives this answer to processes that are connected or connect later.
  void close(message::ToJoined answer);

 private:
  struct Peer;
  struct Endpoint {
    Peer* taker = nullptr;
    int fd = -1;
    bool is_left = false;  // its process had connected and has left
  };

  void on_connection(int fd);
  void on_packet(Peer& peer);
  void take_in(Peer& peer, const message::Join& join);
  void dismiss(Peer& peer, const message::ToJoined& answer);
  void dismiss_all(const message::ToJoined& answer);
  void leave(Peer& peer);
  void give(Endpoint& endpoint);

  loop::Loop& loop_;
  JoinSpec spec_;
  int64_t fit_ = 0;  // 0: none
  std::optional<message::ToJoined> answer_;
  std::vector<Endpoint> endpoints_;  // by local rank
  std::vector<std::unique_ptr<Peer>> peers_;
  loop::RuntimeListener listener_;
};

}  // namespace rtrain::node
