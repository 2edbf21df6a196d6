#include "host/node/worker_group.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include "host/base/error.h"
#include "host/base/fault.h"
#include "host/base/fd.h"
#include "host/base/text.h"
#include "host/loop/frame_channel.h"
#include "host/loop/open_files.h"
#include "host/loop/pipe_reader.h"
#include "host/loop/worker_descriptors.h"
#include "host/machine/thread_cpus.h"

namespace rtrain {
namespace {

constexpr const char* kExecutable = "/proc/self/exe";

struct Pipe {
  Pipe() {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) {
      throw Error(Code::kEnvironment,
                  cat("cannot create a pipe: ", std::string_view(std::strerror(errno))));
    }
    read = Fd(fds[0]);
    write = Fd(fds[1]);
  }
  Fd read;
  Fd write;
};

}  // namespace

class WorkerGroup::Worker {
 public:
  Worker(WorkerGroup& group, int rank, const WorkerPlace& place)
      : group_(group), delegate_(group.delegate_), guard_(group.guard_.get()), rank_(rank) {
    const SocketPair sockets = make_socket_pair();
    Fd near(sockets.near);
    Fd far(sockets.far);
    if (group.options_.local) {
      near_fd_ = near.get();
      endpoint_fd_ = far.release();
      if (rank == 0) pid_ = getpid();
      open_channel(group, near.release());
      return;
    }
    Pipe out;
    Pipe err;
    spawn(group, place,
          {out.write.get(), err.write.get(), far.get(), group.options_.functions_fd,
           group.options_.progress_fd, group.options_.engine_fd, group.options_.commits_fd});
    out_fd_ = std::move(out.read);
    err_fd_ = std::move(err.read);
    near_ = std::move(near);
    if (rank_ != kStandbyRank) listen();
  }

  ~Worker() {
    if (endpoint_fd_ >= 0) close(endpoint_fd_);
  }
  // One that stands by is that rank's from now on. False where it has ended.
  bool take_place(int rank, const WorkerPlace& place) {
    if (!process_->is_running()) return false;
    if (!place.cpus.empty()) bind_all_threads(place.cpus, pid());
    if (write(near_.get(), &rank, sizeof(rank)) != sizeof(rank)) return false;
    rank_ = rank;
    listen();
    return true;
  }
  int pid() const { return process_ ? process_->pid() : pid_; }
  void set_pid(int pid) { pid_ = pid; }
  bool is_running() const { return process_ && process_->is_running(); }
  int take_endpoint() { return std::exchange(endpoint_fd_, -1); }
  void kill() {
    if (process_) return process_->kill_group(SIGKILL);
    if (near_fd_ >= 0) shutdown(near_fd_, SHUT_WR);
  }
  void refuse(const std::string& reason) {
    broken_ = reason;
    kill();
  }
  void drain() { channel_->drain(); }
  void send(std::string_view frame) { channel_->send(frame); }
  void hold_output(bool held) {
    if (out_) out_->hold(held);
    if (err_) err_->hold(held);
  }

 private:
  void listen() {
    open_channel(group_, near_.release());
    out_.emplace(group_.loop_, out_fd_.release(), reader(OutputStream::kStdout));
    err_.emplace(group_.loop_, err_fd_.release(), reader(OutputStream::kStderr));
  }

  void open_channel(WorkerGroup& group, int fd) {
    channel_.emplace(
        group.loop_, fd, [this](std::string frame) { delegate_.on_frame(rank_, std::move(frame)); },
        [this](const std::string& reason) { on_channel_closed(reason); });
  }

  void spawn(WorkerGroup& group, const WorkerPlace& place, std::vector<int> descriptors) {
    ProcessOptions options;
    options.file = kExecutable;
    options.args = {"rtrain", "--worker", std::to_string(rank_), std::to_string(getpid())};
    options.env = group.options_.env;
    options.env.push_back(group.descendants_->variable());
    options.descriptors = std::move(descriptors);
    options.descriptors.insert(options.descriptors.end(), place.lease_fds.begin(),
                               place.lease_fds.end());
    options.cpus = place.cpus;
    process_.emplace(group.loop_, options, [this](ExitStatus status) { on_exit(status); });
    ++group.running_;
    group.descendants_->add(pid());
    guard_->add(pid());
  }

  PipeReader::OnBytes reader(OutputStream stream) {
    return [this, stream](std::string_view bytes) { delegate_.on_output(rank_, stream, bytes); };
  }

  // The end of the stream comes with the worker's own end, or it has closed its channel: of no use
  // any more.
  void on_channel_closed(const std::string& reason) {
    if (broken_.empty()) broken_ = reason;
    if (!process_) {
      near_fd_ = -1;
      return delegate_.on_gone(rank_,
                               {.pid = pid(), .is_child = false, .status = {}, .broken = broken_});
    }
    kill();
  }

  // Everything the worker had written lies in the socket and the pipes by now. Their end may never
  // come: a process that has left the worker's group can hold them open.
  void on_exit(ExitStatus status) {
    group_.on_worker_exit();
    guard_->del(pid());
    if (rank_ == kStandbyRank) return;
    channel_->drain();
    channel_->close();
    for (auto* stream : {&*out_, &*err_}) {
      stream->drain();
      stream->close();
    }
    delegate_.on_gone(rank_, {.pid = pid(), .is_child = true, .status = status, .broken = broken_});
  }

  WorkerGroup& group_;
  WorkerGroupDelegate& delegate_;
  GroupGuard* guard_;  // null in local mode, where there is no process to guard
  int rank_;
  std::string broken_;
  Fd near_, out_fd_, err_fd_;  // of one that stands by
  int near_fd_ = -1;           // in local mode, while the channel is open
  int endpoint_fd_ = -1;       // until it is taken
  int pid_ = 0;                // in local mode; 0 until it is known
  std::optional<FrameChannel> channel_;
  std::optional<PipeReader> out_;
  std::optional<PipeReader> err_;
  std::optional<Process> process_;  // last: its destructor kills, and calls nobody
};

WorkerGroup::WorkerGroup(Loop& loop, const WorkerGroupOptions& options,
                         WorkerGroupDelegate& delegate)
    : loop_(loop), options_(options), delegate_(delegate) {
  if (options_.progress_fd >= 0) return;
  own_board_.emplace(options_.first_rank + options_.num_workers);
  options_.progress_fd = own_board_->fd();
}

WorkerGroup::~WorkerGroup() { kill(); }

// One that stands by does not keep the group alive.
void WorkerGroup::on_worker_exit() {
  const int standing_by = standby_ && standby_->is_running() ? 1 : 0;
  if (--running_ > standing_by) return;
  end_standby();
  descendants_->kill();
}

void WorkerGroup::end_standby() {
  if (standby_) standby_->kill();
}

void WorkerGroup::spawn_next(const WorkerPlace& place) {
  // A worker's channel, pipes and watch; their other ends and copies while it starts; the store,
  // logs and files of a commit next to them.
  constexpr int kForEach = 4;
  constexpr int kBesides = 32;
  if (workers_.empty()) provide_open_files(kForEach * options_.num_workers + kBesides);
  fault_point("group.spawn");
  if (!guard_ && !options_.local) {
    descendants_ = std::make_unique<Descendants>();
    guard_ = std::make_unique<GroupGuard>(loop_, kExecutable, *descendants_);
  }
  workers_.push_back(std::make_unique<Worker>(*this, options_.first_rank + size(), place));
}

void WorkerGroup::replace(int rank, const WorkerPlace& place) {
  fault_point("group.spawn");
  auto& worker = workers_.at(static_cast<size_t>(rank - options_.first_rank));
  if (standby_ && standby_->take_place(rank, place)) {
    worker = std::move(standby_);
  } else {
    worker = std::make_unique<Worker>(*this, rank, place);
  }
}

void WorkerGroup::prepare_standby(const WorkerPlace& place) {
  if (standby_ && standby_->is_running()) return;
  try {
    standby_ = std::make_unique<Worker>(*this, kStandbyRank, place);
  } catch (const Error&) {
    standby_.reset();
  }
}

WorkerGroup::Worker& WorkerGroup::worker(int rank) const {
  return *workers_.at(static_cast<size_t>(rank - options_.first_rank));
}

int WorkerGroup::take_endpoint(int rank) { return worker(rank).take_endpoint(); }

void WorkerGroup::set_pid(int rank, int pid) { worker(rank).set_pid(pid); }

int WorkerGroup::pid(int rank) const { return worker(rank).pid(); }

void WorkerGroup::drain() {
  for (const auto& worker : workers_) worker->drain();
}

void WorkerGroup::send(int rank, std::string_view frame) { worker(rank).send(frame); }

void WorkerGroup::refuse(int rank, const std::string& reason) { worker(rank).refuse(reason); }

void WorkerGroup::hold_output(bool held) {
  for (const auto& worker : workers_) worker->hold_output(held);
}

void WorkerGroup::kill(int rank) { worker(rank).kill(); }

void WorkerGroup::kill() {
  end_standby();
  for (const auto& worker : workers_) worker->kill();
}

}  // namespace rtrain
