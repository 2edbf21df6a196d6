// host/worker/far_ingest.h: a rank's connection to its ingest worker on another node of the job.
//
// Thread: main.
#pragma once

#include <memory>
#include <string>

#include "host/wire/tls_tunnel.h"

namespace rtrain::worker {

class WorkerProcess;

class FarIngest {
 public:
  // Starts the ingest worker with this number. Returns null where each node of the job has ranks.
  // Throws Error(kTimeout) when the controller does not answer, and Error(kEnvironment).
  static std::unique_ptr<FarIngest> start(WorkerProcess& worker, int number, int threads);

  const std::string& host() const { return host_; }
  // Returns a socket to the ingest worker, once; the caller owns it. It is closed when the ingest
  // worker does not connect within ten seconds.
  int take_socket() { return tunnel_->take_socket(); }
  // Ends the connection. The ingest worker ends too.
  void end() { tunnel_.reset(); }

 private:
  std::unique_ptr<wire::TlsTunnel> tunnel_;
  std::string host_;
};

}  // namespace rtrain::worker
