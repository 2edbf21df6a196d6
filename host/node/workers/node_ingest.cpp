#include "host/node/workers/node_ingest.h"

#include <sys/socket.h>

#include <cstdio>
#include <string>

#include "host/base/codec/codec.h"
#include "host/base/error.h"
#include "host/node/workers/worker_place.h"

namespace rtrain::node {
namespace {

std::unique_ptr<loop::HelperProcess> start_process(const message::StartIngest& wanted,
                                                   int engine_fd) {
  loop::HelperOptions options;
  options.args = {"--far-ingest", std::to_string(wanted.number)};
  options.env = {{"OMP_NUM_THREADS", std::to_string(wanted.threads)}, {kVisibleDevices, ""}};
  options.engine_fd = engine_fd;
  auto process = std::make_unique<loop::HelperProcess>(options);
  // The secret is passed through the socket, because command lines and environments are visible to
  // others.
  const Fd socket(process->take_socket());
  const std::string order = encode(to_value(wanted));
  ::send(socket.get(), order.data(), order.size(), MSG_NOSIGNAL);
  return process;
}

}  // namespace

void NodeIngest::start(const message::StartIngest& wanted, int engine_fd) {
  try {
    workers_.push_back({wanted.rank, wanted.number, start_process(wanted, engine_fd)});
  } catch (const Error& e) {
    std::fprintf(stderr, "rtrain: ingest worker %d of rank %d: %s\n", wanted.number, wanted.rank,
                 e.what());
  }
}

void NodeIngest::look() {
  std::erase_if(workers_, [](const Worker& worker) {
    if (worker.process->is_running()) return false;
    const loop::ExitStatus status = worker.process->end(0);
    if (status.signal != 0 || status.exit_code != 0) {
      std::fprintf(stderr, "rtrain: ingest worker %d of rank %d (process %d) %s\n", worker.number,
                   worker.rank, worker.process->pid(), loop::to_text(status).c_str());
    }
    return true;
  });
}

}  // namespace rtrain::node
