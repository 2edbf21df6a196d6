#include "host/worker/zygote_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "host/base/error.h"
#include "host/loop/channel/descriptor_message.h"
#include "host/loop/messages/fork.h"
#include "host/loop/processes/process.h"
#include "host/loop/processes/worker_descriptors.h"
#include "host/machine/processes/thread_cpus.h"

namespace rtrain::worker {
namespace {

// The requesting process becomes the parent when the process in between has ended.
void wait_for_parent(int parent_pid) {
  constexpr int kRounds = 20000;
  constexpr useconds_t kPauseUs = 50;
  for (int round = 0; getppid() != parent_pid; ++round) {
    if (getppid() == 1 || round == kRounds) _exit(1);
    usleep(kPauseUs);
  }
}

// Copies the descriptors above all places first, so that dup2 never overwrites one of them.
void place_descriptors(std::vector<Fd> fds, const std::vector<int>& places) {
  const int last = places.empty() ? STDERR_FILENO : *std::ranges::max_element(places);
  std::vector<Fd> copies;
  for (const Fd& fd : fds) copies.emplace_back(fcntl(fd.get(), F_DUPFD_CLOEXEC, last + 1));
  fds.clear();
  close_range(1, static_cast<unsigned>(last), 0);
  for (size_t i = 0; i < copies.size(); ++i) {
    if (dup2(copies[i].get(), places[i]) < 0) _exit(1);
  }
  copies.clear();
  close_range(static_cast<unsigned>(last) + 1, ~0U, 0);
}

void set_environment(const std::vector<std::string>& env) {
  for (const std::string& entry : env) {
    const size_t equals = entry.find('=');
    setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
  }
}

void become_worker(message::Fork fork, std::vector<Fd> fds, int parent_pid, char* rank_argument) {
  wait_for_parent(parent_pid);
  setsid();
  place_descriptors(std::move(fds), fork.places);
  set_environment(fork.env);
  if (!fork.cpus.empty()) machine::bind_all_threads(fork.cpus);
  // Changes the rank that `ps` shows, with blanks where the argument was longer.
  const size_t size = std::strlen(rank_argument);
  std::snprintf(rank_argument, size + 1, "%-*d", static_cast<int>(size), fork.rank);
}

// Returns true in the worker. `pid` is in memory that both processes share.
bool fork_worker(volatile pid_t* pid) {
  *pid = 0;
  const pid_t between = fork();
  if (between == 0) {
    const pid_t worker = fork();
    if (worker == 0) return true;
    *pid = std::max(worker, 0);
    _exit(0);
  }
  while (between > 0 && waitpid(between, nullptr, 0) < 0 && errno == EINTR) {
  }
  return false;
}

}  // namespace

int serve_forks(int parent_pid, char* rank_argument) {
  loop::die_with_parent(parent_pid);
  void* shared =
      mmap(nullptr, sizeof(pid_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) std::_Exit(1);
  auto* pid = static_cast<volatile pid_t*>(shared);
  loop::DescriptorMessage request;
  while (loop::wait_for_descriptor_message(loop::kChannelFd, request)) {
    auto fork = from_value<message::Fork>(std::move(request.value));
    if (fork_worker(pid)) {
      const int rank = fork.rank;
      become_worker(std::move(fork), std::move(request.fds), parent_pid, rank_argument);
      return rank;
    }
    request.fds.clear();
    if (!loop::send_descriptor_message(loop::kChannelFd, to_value(message::Forked{.pid = *pid})))
      break;
  }
  std::_Exit(0);
}

}  // namespace rtrain::worker
