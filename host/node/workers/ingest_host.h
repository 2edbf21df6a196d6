// host/node/workers/ingest_host.h: the ingest workers that this host has for ranks on other hosts.
//
// Each connects to its rank and ends when that closes the connection. Belongs to the loop's thread.
#pragma once

#include <memory>
#include <vector>

#include "host/loop/messages/ingest.h"
#include "host/loop/processes/helper_process.h"

namespace rtrain {

class IngestHost {
 public:
  // Where one cannot be started its rank waits in vain and asks again: a line on stderr says why.
  void start(const message::StartIngest& wanted, int engine_fd);
  // Forgets those that have ended. Now and then.
  void look();
  // Kills them.
  void kill() { workers_.clear(); }

 private:
  struct Worker {
    int rank = 0;
    int number = 0;
    std::unique_ptr<HelperProcess> process;
  };
  std::vector<Worker> workers_;
};

}  // namespace rtrain
