#include "host/cli/control_client.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "host/base/text.h"
#include "host/machine/runtime_folder.h"
#include "host/train/control_server.h"

namespace rtrain {
namespace {

using Clock = std::chrono::steady_clock;

// Where the controller is, as far as the store knows.
Error unreachable(const OpenRun& run, const Value& document, const std::string& reason) {
  const std::string host = document["environment"]["hostname"].string_or("another host");
  return Error(Code::kEnvironment,
               cat("the controller of run '", run.ref.name, "' on ", host, " cannot be reached: ",
                   reason, " (", runtime_folder(), "/", control_socket_name(run.ref.run_id),
                   "): run this command on that host, as the same user and with the same "
                   "RTRAIN_RUNTIME_DIR"));
}

std::unique_ptr<ControlWay> connect_to(OpenRun& run) {
  const Value document = run.reader.run(run.ref);
  if (!run.reader.is_live(run.ref)) {
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

ControlClient::ControlClient(OpenRun& run)
    : way_(connect_to(run)),
      pid_(way_->pid().value_or(
          static_cast<int>(run.reader.run(run.ref)["environment"]["pid"].int_or(0)))) {}

Value ControlClient::ask(const std::string& op, Value request, std::chrono::milliseconds timeout) {
  request.as_map().set("op", op);
  Value reply;
  const Read read = way_->send(request) ? way_->read(timeout, reply) : Read::kEnd;
  if (read == Read::kEnd) throw Error(Code::kNotFound, "the run has just ended");
  if (read == Read::kTimeout) {
    throw Error(Code::kTimeout, cat("the controller (pid ", pid_, ") has not answered '", op,
                                    "' for ", static_cast<double>(timeout.count()) / 1000,
                                    " s: is it stopped (kill -CONT ", pid_, ")?"));
  }
  if (!reply["error"].is_nil()) throw error_from_value(reply["error"]);
  return reply["value"];
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

}  // namespace rtrain
