#include "host/cli/control_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "host/base/codec.h"
#include "host/base/text.h"
#include "host/machine/runtime_folder.h"
#include "host/train/control_server.h"

namespace rtrain {
namespace {

using Clock = std::chrono::steady_clock;

// Where the controller is, as far as the store knows.
Error unreachable(OpenRun& run, const std::string& reason) {
  const Value document = run.reader.run(run.ref);
  const std::string host = document["environment"]["hostname"].string_or("another host");
  return Error(Code::kEnvironment,
               cat("the controller of run '", run.ref.name, "' on ", host, " cannot be reached: ",
                   reason, " (", runtime_folder(), "/", control_socket_name(run.ref.run_id),
                   "): run this command on that host, as the same user and with the same "
                   "RTRAIN_RUNTIME_DIR"));
}

int connect_to(OpenRun& run) {
  if (!run.reader.is_live(run.ref)) {
    const Value document = run.reader.run(run.ref);
    throw Error(Code::kUsage,
                cat("run '", run.ref.name, "' is over: ", document["status"].as_string()));
  }
  const int fd = connect_control_socket(control_socket_name(run.ref.run_id));
  if (fd < 0) throw unreachable(run, std::strerror(errno));
  return fd;
}

}  // namespace

ControlClient::ControlClient(OpenRun& run) : fd_(connect_to(run)) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(fd_, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) pid_ = peer.pid;
}

ControlClient::~ControlClient() { close(fd_); }

Value ControlClient::ask(const std::string& op, Value request, std::chrono::milliseconds timeout) {
  request.as_map().set("op", op);
  const std::string frame = to_frame(encode(request));
  Value reply;
  const bool sent =
      ::send(fd_, frame.data(), frame.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(frame.size());
  const Read read = sent ? read_message(timeout, reply) : Read::kEnd;
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
    const Read read = read_message(std::max(left, std::chrono::milliseconds(0)), ignored);
    if (read != Read::kMessage) return read == Read::kEnd;
  }
}

ControlClient::Read ControlClient::read_message(std::chrono::milliseconds timeout, Value& message) {
  const auto deadline = Clock::now() + timeout;
  std::array<char, 65536> buffer;
  for (;;) {
    if (const auto body = frames_.next()) {
      message = decode(*body);
      return Read::kMessage;
    }
    const ssize_t n = ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n > 0) {
      frames_.add({buffer.data(), static_cast<size_t>(n)});
      continue;
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) return Read::kEnd;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return Read::kTimeout;
    pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
    ::poll(&ready, 1, static_cast<int>(std::min<int64_t>(left.count(), 60000)));
  }
}

}  // namespace rtrain
