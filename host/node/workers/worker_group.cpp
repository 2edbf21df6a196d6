#include "host/node/workers/worker_group.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include "host/base/error.h"
#include "host/base/fault.h"
#include "host/base/files/fd.h"
#include "host/base/text/text.h"
#include "host/loop/channel/frame.h"
#include "host/loop/channel/frame_channel.h"
#include "host/loop/pipe_reader.h"
#include "host/loop/processes/worker_descriptors.h"
#include "host/machine/processes/thread_cpus.h"

namespace rtrain::node {
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
      : group_(group),
        delegate_(group.delegate_),
        guard_(group.guard_.get()),
        rank_(rank),
        place_(place) {}

  ~Worker() {
    if (endpoint_fd_ >= 0) close(endpoint_fd_);
  }
  // Throws SpawnError.
  void start_as_spare(std::string frame) {
    first_frame_ = std::move(frame);
    start(group_.options_.zygote);
  }
  bool is_spare() const { return first_frame_.has_value(); }
  bool has_ended() const { return !request_ && !(process_ && process_->is_running()); }
  bool is_there() const { return process_ && process_->is_running(); }
  // The spare becomes the process of this rank.
  void take_rank(int rank, const WorkerPlace& place) {
    rank_ = rank;
    place_ = place;
    first_frame_.reset();
    if (!place.cpus.empty()) machine::bind_all_threads(pid(), place.cpus);
    open(std::move(ends_));
  }
  // Of a spare that has not ended.
  void forget_spare() {
    if (process_) guard_->del(pid());
    request_.reset();
    process_.reset();
  }
  // Throws SpawnError.
  void start() {
    if (group_.options_.local) return begin_local();
    start(group_.options_.zygote);
  }
  int pid() const { return process_ ? process_->pid() : pid_; }
  void set_pid(int pid) { pid_ = pid; }
  int take_endpoint() { return std::exchange(endpoint_fd_, -1); }
  void kill() {
    if (process_) return process_->kill_group(SIGKILL);
    if (near_fd_ >= 0) shutdown(near_fd_, SHUT_WR);
    // Ends the zygote, which may be blocked on a disk while it loads libraries.
    if (request_) group_.options_.zygote->end();
    is_killed_ = true;
  }
  void refuse(const std::string& reason) {
    broken_ = reason;
    kill();
  }
  void drain() {
    if (channel_) channel_->drain();
  }
  void send(std::string_view frame) {
    if (channel_) channel_->send(frame);
  }
  void hold_output(bool held) {
    if (out_) out_->hold(held);
    if (err_) err_->hold(held);
  }

 private:
  // This process's ends of the descriptors that the worker inherits.
  struct Ends {
    Fd channel, out, err;
  };

  void begin_local() {
    const loop::SocketPair sockets = loop::make_socket_pair();
    near_fd_ = sockets.near;
    endpoint_fd_ = sockets.far;
    if (rank_ == 0) pid_ = getpid();
    open_channel(sockets.near);
  }

  void start(Zygote* zygote) {
    const loop::SocketPair sockets = loop::make_socket_pair();
    Fd far(sockets.far);
    Pipe out;
    Pipe err;
    Ends ends{Fd(sockets.near), std::move(out.read), std::move(err.read)};
    const loop::ProcessOptions options =
        process_options({out.write.get(), err.write.get(), far.get()});
    if (zygote != nullptr) {
      request_ = zygote->fork(rank_, options, [this](int pid) { on_forked(pid); });
    }
    if (request_) {
      ends_ = std::move(ends);
      ++group_.running_;
      return;
    }
    process_.emplace(group_.loop_, options, [this](loop::ExitStatus status) { on_exit(status); });
    ++group_.running_;
    begin(std::move(ends));
  }

  void on_forked(int pid) {
    request_.reset();
    Ends ends = std::move(ends_);
    try {
      if (pid == 0) return start_alone();
      process_.emplace(group_.loop_, pid, [this](loop::ExitStatus status) { on_exit(status); });
      begin(std::move(ends));
      if (is_killed_) kill();
    } catch (const Error& e) {
      group_.on_worker_exit();
      if (is_spare()) return;
      WorkerEnd end;
      end.is_child = false;
      end.broken = e.message();
      delegate_.on_gone(rank_, end);
    }
  }

  // Starts it from the executable, with a channel and pipes that no other process has.
  void start_alone() {
    if (is_killed_) throw Error(Code::kWorkerLost, "it was killed before it was started");
    start(nullptr);
    --group_.running_;  // it was counted twice
  }

  loop::ProcessOptions process_options(std::vector<int> descriptors) const {
    const WorkerGroupOptions& group = group_.options_;
    loop::ProcessOptions options;
    options.file = kExecutable;
    options.args = {"rtrain", "--worker", std::to_string(rank_), std::to_string(getpid())};
    options.env = group.env;
    options.env.push_back(group_.descendants_->variable());
    for (const int fd :
         {group.functions_fd, group.progress_fd, group.engine_fd, group.commits_fd}) {
      descriptors.push_back(fd);
    }
    descriptors.insert(descriptors.end(), place_.lease_fds.begin(), place_.lease_fds.end());
    options.descriptors = std::move(descriptors);
    options.cpus = place_.cpus;
    return options;
  }

  void begin(Ends ends) {
    group_.descendants_->add(pid());
    guard_->add(pid());
    if (!is_spare()) return open(std::move(ends));
    // The socket is empty, and takes a short message.
    const std::string frame = loop::to_frame(*first_frame_);
    if (write(ends.channel.get(), frame.data(), frame.size()) != std::ssize(frame)) kill();
    ends_ = std::move(ends);
  }

  void open(Ends ends) {
    open_channel(ends.channel.release());
    out_.emplace(group_.loop_, ends.out.release(), reader(OutputStream::kStdout));
    err_.emplace(group_.loop_, ends.err.release(), reader(OutputStream::kStderr));
    delegate_.on_started(rank_);
  }

  void open_channel(int fd) {
    channel_.emplace(
        group_.loop_, fd,
        [this](std::string frame) { delegate_.on_frame(rank_, std::move(frame)); },
        [this](const std::string& reason) { on_channel_closed(reason); });
  }

  loop::PipeReader::OnBytes reader(OutputStream stream) {
    return [this, stream](std::string_view bytes) { delegate_.on_output(rank_, stream, bytes); };
  }

  // The stream ends when the worker ends, or when it has closed its channel, which is then
  // useless.
  void on_channel_closed(const std::string& reason) {
    if (broken_.empty()) broken_ = reason;
    if (!process_) {
      near_fd_ = -1;
      return delegate_.on_gone(rank_,
                               {.pid = pid(), .is_child = false, .status = {}, .broken = broken_});
    }
    kill();
  }

  // Everything that the worker has written is in the socket and the pipes now. Their end may never
  // come, because a process that has left the worker's group can hold them open.
  void on_exit(loop::ExitStatus status) {
    group_.on_worker_exit();
    guard_->del(pid());
    if (is_spare()) return;
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
  loop::GroupGuard* guard_;  // null in local mode, which has no process to guard
  int rank_;
  WorkerPlace place_;
  std::string broken_;
  Zygote::Request request_;                 // while the process is being forked
  Ends ends_;                               // for the same time, and while it is a spare
  std::optional<std::string> first_frame_;  // of a spare
  bool is_killed_ = false;                  // kill() came while the process was being forked
  int near_fd_ = -1;                        // in local mode, while the channel is open
  int endpoint_fd_ = -1;                    // until it is taken
  int pid_ = 0;                             // in local mode; 0 until known
  std::optional<loop::FrameChannel> channel_;
  std::optional<loop::PipeReader> out_;
  std::optional<loop::PipeReader> err_;
  std::optional<loop::Process> process_;  // last: its destructor kills, and calls no callback
};

WorkerGroup::WorkerGroup(loop::Loop& loop, const WorkerGroupOptions& options,
                         WorkerGroupDelegate& delegate)
    : loop_(loop), options_(options), delegate_(delegate) {
  if (options_.progress_fd >= 0) return;
  own_board_.emplace(options_.first_rank + options_.num_workers);
  options_.progress_fd = own_board_->fd();
}

WorkerGroup::~WorkerGroup() { kill(); }

void WorkerGroup::on_worker_exit() {
  if (--running_ == 0) descendants_->kill();
}

void WorkerGroup::spawn_next(const WorkerPlace& place) {
  // Descriptors for each worker: its channel, pipes and watch, and while it starts their other ends
  // and copies; the store, logs and files of a commit are additional.
  constexpr int kForEach = 4;
  constexpr int kBesides = 32;
  if (workers_.empty()) {
    const int most = options_.num_workers + 1;  // with the spare
    files_ = std::make_unique<machine::FileReserve>(kForEach * most + kBesides);
  }
  fault_point("group.spawn");
  if (!guard_ && !options_.local) {
    descendants_ = std::make_unique<loop::Descendants>();
    guard_ = std::make_unique<loop::GroupGuard>(loop_, kExecutable, *descendants_);
  }
  workers_.push_back(std::make_unique<Worker>(*this, options_.first_rank + size(), place));
  try {
    workers_.back()->start();
  } catch (const Error&) {
    workers_.pop_back();
    throw;
  }
}

void WorkerGroup::replace(int rank, const WorkerPlace& place) {
  fault_point("group.spawn");
  auto& worker = workers_.at(static_cast<size_t>(rank - options_.first_rank));
  worker = std::make_unique<Worker>(*this, rank, place);
  worker->start();
}

void WorkerGroup::start_spare(SpareStart start, const WorkerPlace& place) {
  fault_point("spare.start");
  spare_ = std::make_unique<Worker>(*this, start.number, place);
  spare_->start_as_spare(std::move(start.frame));
}

bool WorkerGroup::has_spare() const { return spare_ && !spare_->has_ended(); }

bool WorkerGroup::is_spare_there() const { return spare_ && spare_->is_there(); }

void WorkerGroup::replace_by_spare(int rank, const WorkerPlace& place) {
  auto& worker = workers_.at(static_cast<size_t>(rank - options_.first_rank));
  worker = std::move(spare_);
  worker->take_rank(rank, place);
}

void WorkerGroup::drop_spare() {
  if (has_spare()) {
    spare_->forget_spare();
    on_worker_exit();
  }
  spare_.reset();
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
  drop_spare();
  for (const auto& worker : workers_) worker->kill();
}

}  // namespace rtrain::node
