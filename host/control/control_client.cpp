#include "host/control/control_client.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "host/base/text/text.h"
#include "host/machine/leases/runtime_folder.h"
#include "host/store/claim/run_lock.h"
#include "host/store/read/run_document.h"
#include "host/train/control_server.h"
#include "host/train/watch/profile_request.h"

namespace rtrain::control {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenLooks{200};
// Added to the controller's own deadline for profiles.
constexpr double kAnswerS = 10;

// The error of a controller that cannot be reached, with its node as the run store has it.
Error unreachable(const store::OpenRun& run, const Value& document, const std::string& reason) {
  const std::string host = document["environment"]["hostname"].string_or("another node");
  return Error(
      Code::kEnvironment,
      cat("the controller of run '", run.ref.name, "' on ", host, " cannot be reached: ", reason,
          " (", machine::runtime_folder(), "/", train::control_socket_name(run.ref.run_id),
          "): run this command on that node, as the same user and with the same "
          "RTRAIN_RUNTIME_DIR"));
}

std::unique_ptr<ControlWay> connect_to(store::OpenRun& run) {
  const Value document = store::read_run(run.store, run.ref);
  if (!store::RunLock::is_held(run.ref.path)) {
    throw Error(Code::kUsage,
                cat("run '", run.ref.name, "' is over: ", document["status"].as_string()));
  }
  if (auto way = control_socket(run.ref.run_id)) return way;
  const std::string reason = std::strerror(errno);
  try {
    if (auto way = control_link(document["path"].as_string(), run.ref.run_id)) return way;
  } catch (const Error& e) {
    throw unreachable(run, document, e.message());
  }
  throw unreachable(run, document, reason);
}

}  // namespace

ControlClient::ControlClient(store::OpenRun& run, std::stop_token stop)
    : way_(connect_to(run)),
      stop_(std::move(stop)),
      pid_(way_->pid().value_or(
          static_cast<int>(store::read_run(run.store, run.ref)["environment"]["pid"].int_or(0)))) {}

Value ControlClient::ask(const std::string& op, Value request, std::chrono::milliseconds timeout) {
  request.as_map().set("op", op);
  Value reply;
  const Read found = way_->send(request) ? read(timeout, reply) : Read::kEnd;
  if (found == Read::kEnd) throw Error(Code::kNotFound, "the run has just ended");
  if (found == Read::kTimeout && stop_.stop_requested()) {
    throw Error(Code::kTimeout, cat("'", op, "' was not waited for"));
  }
  if (found == Read::kTimeout) {
    throw Error(Code::kTimeout, cat("the controller (pid ", pid_, ") has not answered '", op,
                                    "' for ", static_cast<double>(timeout.count()) / 1000,
                                    " s: is it stopped (kill -CONT ", pid_, ")?"));
  }
  if (!reply["error"].is_nil()) throw error_from_value(reply["error"]);
  return reply["value"];
}

// Reads in short waits, so that it notices a request to stop.
ControlClient::Read ControlClient::read(std::chrono::milliseconds timeout, Value& message) {
  if (!stop_.stop_possible()) return way_->read(timeout, message);
  const auto deadline = Clock::now() + timeout;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    const auto part = std::clamp(left, std::chrono::milliseconds(0), kBetweenLooks);
    const Read found = way_->read(part, message);
    if (found != Read::kTimeout || left <= kBetweenLooks || stop_.stop_requested()) return found;
  }
}

message::Stopping ControlClient::stop(bool now, const std::string& command) {
  return ask(message::StopRun{.now = now, .pid = getpid(), .command = command});
}

message::Stacks ControlClient::stacks(std::optional<int64_t> rank) {
  return ask(message::ShowStacks{.rank = rank});
}

message::Profiles ControlClient::profiles(const message::RecordProfiles& request) {
  const auto timeout = std::chrono::duration<double>(
      train::profile_deadline_s(request.settings.longest_s()) + kAnswerS);
  return ask(request, std::chrono::ceil<std::chrono::milliseconds>(timeout));
}

bool ControlClient::wait_for_end(std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  Value ignored;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    const Read read = way_->read(std::max(left, std::chrono::milliseconds(0)), ignored);
    if (read != Read::kMessage) return read == Read::kEnd;
  }
}

}  // namespace rtrain::control
