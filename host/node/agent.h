// host/node/agent.h: runs on each other node of a job: starts and watches workers for the
// controller on node 0, and ends when the controller says so.
//
// It does not use scripts or stores. Workers end with it, and when it has not heard from the
// controller for the job's node_timeout_s. Then it waits for the controller again, as at its start,
// and sends the reports that its workers had made (host/node/node_spool.h).
//
// If the launcher has started each rank, it starts none: the processes of its node join it
// (host/node/join_server.h). It serves them until the process to which its thread belongs calls
// leave(). It stops earlier if it has not heard from the controller for node_timeout_s.
#pragma once

#include <optional>
#include <string>

#include "host/loop/loop.h"
#include "host/loop/messages/routes.h"
#include "host/loop/signal.h"
#include "host/loop/timer.h"
#include "host/node/health/node_monitor.h"
#include "host/node/health/timed_check.h"
#include "host/node/job_spec.h"
#include "host/node/join_server.h"
#include "host/node/node_agent.h"
#include "host/node/node_spool.h"
#include "host/node/workers/messages.h"
#include "host/node/workers/node_ingest.h"
#include "host/wire/rendezvous.h"
#include "host/wire/secret_source.h"
#include "host/wire/wire_client.h"

namespace rtrain::node {

class Agent : public wire::LinkDelegate {
 public:
  // `gpus`: the devices that the job has on this node. Throws Error(kEnvironment).
  Agent(const JobSpec& spec, std::vector<WorkerGpu> gpus, int engine_fd);
  ~Agent() override;
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Serves until the controller ends the job. Returns the job's exit code. Throws Error(kTimeout)
  // if the controller never connected, Error(kWorkerLost) if it was lost.
  int run();

  // With JobSpec.join: serves until leave(). The joined processes get the result or error that
  // run() would have.
  void serve();
  // Returns once node 0 knows, after a few seconds at most. Any thread, once.
  void leave();

  // The receiver of the controller's messages about the node as a whole.
  static const loop::Routes<message::ToAgent, Agent> kRoutes;

 private:
  void on_frame(std::string_view payload) override;
  void on_connected() override {}
  void on_disconnected(const std::string&) override {}
  void on_peer_restarted() override;
  void on_full(bool is_full) override { node_.hold_output(is_full); }
  void on_end(const wire::LinkEnd& end) override;

  std::function<std::optional<wire::WireContact>(std::string& why)> finder();
  void on_functions(message::Functions part);
  void check_folder(const message::CheckFolder& check);
  void on_ask_spool(const message::AskSpool& asked);
  void send_spool();
  void on_signal(int number);
  void send(const Value& message);
  void take_signals();
  NodeFiles files() {
    return {.functions_fd = functions_fd_,
            .engine_fd = engine_fd_,
            .endpoints = joins_ ? &*joins_ : nullptr};
  }
  JoinServer& joins();
  void look();
  void set_lease();
  void end(int code);
  void fail(const Error& error);

  JobSpec spec_;
  loop::Loop loop_;
  std::optional<JoinServer> joins_;  // with JobSpec.join
  std::string functions_;            // the part received so far
  int functions_fd_ = -1;
  int engine_fd_;
  NodeAgent node_;
  NodeMonitor health_;
  std::unique_ptr<TimedCheck> folder_check_;
  std::string far_path_;  // this node's folder for the run, if it does not see node 0's
  NodeIngest ingest_;
  std::optional<int> code_;
  std::optional<Error> failure_;
  std::optional<wire::Rendezvous> rendezvous_;
  NodeSpool spool_;
  std::string asked_run_;   // the run whose spools were requested
  int asked_at_start_ = 0;  // NodeAgent::num_starts() then
  loop::Timer spool_wait_;  // waits for the end of old workers
  double join_timeout_s_;
  std::optional<double> cut_off_at_s_;  // when node_timeout_s without the controller had passed
  loop::Timer lease_;
  std::vector<std::unique_ptr<loop::Signal>> signals_;
  bool is_stopping_ = false;  // a signal was received
  bool is_leaving_ = false;
  wire::WireClient client_;
};

}  // namespace rtrain::node
