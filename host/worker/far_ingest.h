// host/worker/far_ingest.h: an ingest worker on another node of the job, as its rank sees it.
//
// Main thread.
#pragma once

#include <memory>
#include <string>

#include "host/wire/tls_tunnel.h"

namespace rtrain::worker {

class WorkerProcess;

class FarIngest {
 public:
  // Null where no node of the job is without ranks. Throws Error(kTimeout) when the controller does
  // not answer, Error(kEnvironment).
  static std::unique_ptr<FarIngest> start(WorkerProcess& worker, int number, int threads);

  const std::string& host() const { return host_; }
  // A stream of bytes to it, once: the caller owns the socket. It is closed when the process does
  // not come within ten seconds.
  int take_socket() { return tunnel_->take_socket(); }
  // Ends the connection, and with it the process.
  void end() { tunnel_.reset(); }

 private:
  std::unique_ptr<wire::TlsTunnel> tunnel_;
  std::string host_;
};

}  // namespace rtrain::worker
