#include "host/node/workers/zygote.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "host/base/files/fd.h"
#include "host/base/text/text.h"
#include "host/loop/channel/descriptor_message.h"
#include "host/loop/messages/fork.h"
#include "host/loop/processes/worker_descriptors.h"

namespace rtrain::node {
namespace {

void take_orphans_in(bool wanted) { prctl(PR_SET_CHILD_SUBREAPER, wanted ? 1 : 0, 0, 0, 0); }

std::pair<Fd, Fd> packet_sockets() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
    throw Error(Code::kEnvironment,
                cat("cannot create a socket: ", std::string_view(std::strerror(errno))));
  }
  return {Fd(fds[0]), Fd(fds[1])};
}

}  // namespace

Zygote::Zygote(loop::Loop& loop, std::vector<std::pair<std::string, std::string>> env,
               int engine_fd)
    : loop_(loop) {
  auto [near, far] = packet_sockets();
  loop::ProcessOptions options;
  options.file = "/proc/self/exe";
  options.args = {"rtrain", "--worker", loop::kZygoteRank, std::to_string(getpid())};
  options.env = std::move(env);
  options.descriptors = {STDOUT_FILENO, STDERR_FILENO, far.get(), -1, -1, engine_fd};
  process_ = std::make_unique<loop::Process>(loop, options,
                                             [this](const loop::ExitStatus&) { on_exit(); });
  socket_.emplace(loop, near.release(), [this](int) { on_answers(); });
}

Zygote::~Zygote() {
  if (!waiting_.empty()) end_waiting();
}

Zygote::Request Zygote::fork(int rank, const loop::ProcessOptions& options, OnForked on_forked) {
  if (!process_->is_running()) return nullptr;
  message::Fork fork{.rank = rank, .env = {}, .cpus = options.cpus, .places = {}};
  for (const auto& [name, value] : options.env) fork.env.push_back(cat(name, "=", value));
  std::vector<int> fds;
  for (size_t i = 0; i < options.descriptors.size(); ++i) {
    if (options.descriptors[i] < 0) continue;
    fds.push_back(options.descriptors[i]);
    fork.places.push_back(static_cast<int>(i) + 1);
  }
  if (waiting_.empty()) begin_waiting();
  const bool is_sent = loop::send_descriptor_message(socket_->fd(), to_value(std::move(fork)), fds);
  Request request = is_sent ? std::make_shared<OnForked>(std::move(on_forked)) : nullptr;
  if (request) waiting_.push_back(request);
  if (waiting_.empty()) end_waiting();
  return request;
}

void Zygote::begin_waiting() {
  take_orphans_in(true);
  socket_->start(UV_READABLE);
}

void Zygote::end_waiting() {
  take_orphans_in(false);
  socket_->stop();
}

void Zygote::end() { process_->kill_group(SIGKILL); }

void Zygote::on_exit() {
  while (!waiting_.empty()) answer(0);
}

void Zygote::on_answers() {
  loop::DescriptorMessage message;
  while (!waiting_.empty()) {
    const loop::Received received = loop::receive_descriptor_message(socket_->fd(), message);
    if (received == loop::Received::kNothing) return;
    if (received == loop::Received::kEnd) {
      socket_->stop();
      return end();
    }
    answer(static_cast<int>(from_value<message::Forked>(std::move(message.value)).pid));
  }
}

void Zygote::answer(int pid) {
  const Request request = waiting_.front().lock();
  waiting_.pop_front();
  if (waiting_.empty()) end_waiting();
  if (request) {
    (*request)(pid);
  } else if (pid > 0) {
    const loop::Process unwanted(loop_, pid,
                                 [](const loop::ExitStatus&) {});  // the destructor kills it
  }
}

bool wants_zygote() {
  const char* wanted = std::getenv("RTRAIN_ZYGOTE");
  return wanted == nullptr || std::string_view(wanted) != "off";
}

}  // namespace rtrain::node
