#include "host/worker/join_client.h"

#include <sys/socket.h>
#include <unistd.h>

#include <thread>
#include <utility>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/machine/leases/job_end.h"
#include "host/machine/leases/runtime_socket.h"
#include "host/machine/processes/build_id.h"

namespace rtrain::worker {
namespace {

constexpr std::chrono::milliseconds kRetry{50};

Error not_there(const JoinPlace& place) {
  const char* needs = place.is_remote
                          ? "it needs the same script, and the first process of this node, its "
                            "agent, the same RTRAIN_RUNTIME_DIR"
                          : "it needs the same script, the same variables of the launcher and the "
                            "same RTRAIN_RUNTIME_DIR";
  return Error(Code::kTimeout,
               cat("rank ", place.rank, ": the process of rank 0 has not begun this fit() (number ",
                   place.fit, " of the script) within ", place.timeout_s,
                   " s (RTRAIN_JOIN_TIMEOUT_S); ", needs));
}

Error gone(const JoinPlace& place) {
  return Error(Code::kWorkerLost,
               cat("rank ", place.rank, ": ",
                   place.is_remote ? "the first process of this node, which is its agent"
                                   : "the process of rank 0, which keeps the run",
                   ", has gone"));
}

}  // namespace

JoinClient::JoinClient(JoinPlace place) : place_(std::move(place)) {}

JoinClient::~JoinClient() { disconnect(); }

const loop::Routes<message::ToJoined, JoinClient::Next> JoinClient::kRoutes{
    loop::on<message::Endpoint>([](Next&, const auto&) {}),
    loop::on<message::Refused>([](Next&, const auto& refused) { throw Error(refused.error); }),
    loop::on<message::Ended>(
        [](Next& next, message::Ended ended) { next.ended = std::move(ended); }),
    loop::on<message::JobOver>([](Next& next, const auto& over) { next.exit_code = over.code; }),
};

// A connection that ends before any answer was one to the end of the fit() before: it tries again.
JoinClient::Next JoinClient::next() {
  const auto deadline = std::chrono::steady_clock::now() + to_ms(place_.timeout_s);
  loop::DescriptorMessage message;
  while (!connect() || !wait(message)) {
    disconnect();
    if (is_known_) throw gone(place_);
    if (const auto code = machine::find_job_end(place_.socket)) return {.exit_code = code};
    if (std::chrono::steady_clock::now() > deadline) throw not_there(place_);
    std::this_thread::sleep_for(kRetry);
  }
  is_known_ = true;
  Next out;
  if (!message.fds.empty()) out.fd = message.fds.front().release();
  kRoutes.deliver(out, std::move(message.value));
  return out;
}

bool JoinClient::connect() {
  if (fd_ >= 0) return true;
  fd_ = is_known_ ? -1 : machine::connect_runtime_socket(place_.socket, SOCK_SEQPACKET);
  if (fd_ < 0) return false;
  return loop::send_descriptor_message(fd_, to_value(message::Join{.rank = place_.rank,
                                                                   .local_rank = place_.local_rank,
                                                                   .fit = place_.fit,
                                                                   .build_id = machine::build_id(),
                                                                   .pid = getpid()}));
}

// Waits as long as the other process lives: only that process knows when the next attempt begins.
bool JoinClient::wait(loop::DescriptorMessage& out) const {
  return loop::wait_for_descriptor_message(fd_, out);
}

void JoinClient::disconnect() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

}  // namespace rtrain::worker
