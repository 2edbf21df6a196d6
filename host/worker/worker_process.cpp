#include "host/worker/worker_process.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "host/base/clock.h"
#include "host/base/codec.h"
#include "host/base/fault.h"
#include "host/base/text.h"
#include "host/loop/frame.h"
#include "host/loop/process.h"
#include "host/loop/signal.h"
#include "host/store/checkpoint_files.h"

namespace rtrain {
namespace {

constexpr int64_t kMaxReportsAhead = 1024;
constexpr size_t kFilesAMessage = 2000;
constexpr size_t kMaxErrorBytes = size_t{64} << 10;
// A report is one message, with room for the rest of it.
constexpr size_t kMaxMetricsBytes = kMaxFrameBytes - 4096;
constexpr std::chrono::milliseconds kFlushTimeout{10000};
// The controller has its own, shorter deadlines and names who is late; these are for the case that
// it cannot.
constexpr std::chrono::milliseconds kGrace{30000};
constexpr const char* kStartKey = "start";
constexpr const char* kExitKey = "exit";

WorkerProcess* current_worker = nullptr;

std::string call_key(int64_t id) { return cat("call ", id); }
std::string report_key(int64_t index) { return cat("report ", index); }

void block_all_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

void check_size(const Value& metrics) {
  const size_t size = encode(metrics).size();
  if (size <= kMaxMetricsBytes) return;
  throw Error(Code::kArgument, cat("report(): the metrics have ", size, " bytes, the limit is ",
                                   kMaxMetricsBytes, ": put large data into a checkpoint"));
}

}  // namespace

WorkerProcess::WorkerProcess(int parent_pid) {
  die_with_parent(parent_pid);
  for (const int fd : {kChannelFd, kFunctionsFd, kEngineFd}) fcntl(fd, F_SETFD, FD_CLOEXEC);
  block_all_signals();
  setvbuf(stdout, nullptr, _IOLBF,
          0);  // a pipe: lines would come in blocks of 4 KiB, and be lost by a signal
  current_worker = this;
  replies_.expect(kStartKey);
  replies_.expect(kExitKey);
  // Whatever the train function is doing: without a controller nobody will ever take its results.
  // The processes that it has started are in this one's group.
  channel_ = std::make_unique<Channel>(
      loop_, kChannelFd, [this](const Value& message) { on_message(message); },
      [](const std::string&) { kill(0, SIGKILL); });
  control_ = std::thread([this] { run_control(); });
  fault_point("worker.hello");
  send(Map{{"type", "hello"},
           {"version", kProtocolVersion},
           {"build_id", build_id()},
           {"pid", static_cast<int64_t>(getpid())}});
}

WorkerProcess::~WorkerProcess() {
  replies_.close();
  loop_.post([this] {
    channel_->close();
    loop_.stop();
  });
  control_.join();
  current_worker = nullptr;
}

WorkerProcess* WorkerProcess::current() { return current_worker; }

// Signals meant for the job (Ctrl-C to a process group, scancel) reach the workers too; only the
// controller decides what they mean, so here they are taken and dropped.
void WorkerProcess::run_control() {
  pthread_setname_np(pthread_self(), "rtrain-control");
  Signal interrupt(loop_, SIGINT, [] {});
  Signal terminate(loop_, SIGTERM, [] {});
  Signal hangup(loop_, SIGHUP, [] {});
  Signal user(loop_, SIGUSR2, [] {});
  sigset_t taken;
  sigemptyset(&taken);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR2}) sigaddset(&taken, number);
  pthread_sigmask(SIG_UNBLOCK, &taken, nullptr);
  loop_.run();
}

void WorkerProcess::on_message(const Value& message) {
  const std::string& type = message["type"].as_string();
  if (type == "reply") {
    replies_.set(call_key(message["id"].as_int()), message["value"]);
  } else if (type == "reported") {
    const int64_t index = message["index"].as_int();
    replies_.set(report_key(index), message);
    replies_.set_registered(index + 1);
  } else if (type == "start") {
    replies_.set(kStartKey, message);
  } else if (type == "exit") {
    replies_.set(kExitKey, true);
  }
}

void WorkerProcess::send(const Value& message) {
  if (!channel_->send(message)) {
    throw Error(Code::kPeerLost, "the connection to the controller is closed");
  }
}

void WorkerProcess::wait_for_start() {
  const auto start = replies_.wait(kStartKey, std::chrono::hours(1));
  if (!start) throw Error(Code::kTimeout, "the controller has not sent 'start'");
  context_ = worker_context_from_value(*start);
  next_index_ = context_.first_index;
  set_fault_attempt(context_.attempt);
}

std::string WorkerProcess::functions() const {
  struct stat info {};
  if (fstat(kFunctionsFd, &info) != 0) throw Error(Code::kInternal, "no train function was passed");
  std::string out(static_cast<size_t>(info.st_size), '\0');
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t n =
        pread(kFunctionsFd, out.data() + done, out.size() - done, static_cast<off_t>(done));
    if (n <= 0) throw Error(Code::kInternal, "the train function cannot be read");
    done += static_cast<size_t>(n);
  }
  return out;
}

void WorkerProcess::set_phase(std::string_view name) {
  send(Map{{"type", "phase"}, {"name", name}});
}

std::optional<std::string> WorkerProcess::report(const Value& metrics,
                                                 const ReportOptions& options) {
  check_size(metrics);
  const int64_t index = next_index_;
  Map message{{"type", "report"}, {"index", index}, {"time", now_ms()}, {"metrics", metrics}};
  wait_while_ahead();
  if (options.checkpoint) {
    if (!options.directory_name.empty()) CheckpointFiles::check_name(options.directory_name);
    Map staged = stage(options);
    send_files(index, staged["files"].as_list());
    staged.set("files", List{});
    message.set("checkpoint", std::move(staged));
    message.set("directory_name", options.directory_name);
    replies_.expect(report_key(index));
  }
  send(message);
  ++next_index_;
  // In the kernel's hands before report() returns: a returned report outlives this process.
  if (!channel_->flush(kFlushTimeout))
    throw Error(Code::kTimeout, "the controller takes no reports");
  fault_point("worker.reported");
  if (!options.checkpoint) return std::nullopt;
  const auto answer = replies_.wait(report_key(index), user_timeout() + kGrace);
  if (!answer)
    throw Error(Code::kTimeout, cat("report() number ", index, ": no answer from the controller"));
  const Value& error = (*answer)["error"];
  if (!error.is_nil()) throw error_from_value(error);
  return (*answer)["path"].as_string();
}

Map WorkerProcess::stage(const ReportOptions& options) {
  pending_writes_.wait_for(*options.checkpoint, user_timeout());
  const CheckpointFiles files(context_.run_path);
  const StageKey key{context_.attempt, context_.nonce, next_index_};
  const StagedRank staged =
      files.stage(key, context_.world_rank, *options.checkpoint, options.temporary);
  return staged.to_value().as_map();
}

// In parts: a folder of many files has a longer list than one frame may have.
void WorkerProcess::send_files(int64_t index, const List& files) {
  for (size_t begin = 0; begin < files.size(); begin += kFilesAMessage) {
    const size_t end = std::min(files.size(), begin + kFilesAMessage);
    send(Map{{"type", "files"},
             {"index", index},
             {"files", List(files.begin() + static_cast<std::ptrdiff_t>(begin),
                            files.begin() + static_cast<std::ptrdiff_t>(end))}});
  }
}

void WorkerProcess::wait_while_ahead() {
  const int64_t least = next_index_ - kMaxReportsAhead;
  if (least <= context_.first_index || replies_.wait_registered(least, user_timeout())) return;
  throw Error(Code::kTimeout,
              cat("report() number ", next_index_, ": this rank is ", kMaxReportsAhead,
                  " reports ahead of another one for ", context_.timeout_s, " s (timeout_s)"));
}

std::string WorkerProcess::make_tempdir() const {
  return CheckpointFiles(context_.run_path).make_tempdir(context_.attempt, context_.nonce);
}

void WorkerProcess::finish(const Value& value) {
  fault_point("worker.returned");
  send(
      Map{{"type", "returned"}, {"value", value}, {"reports", next_index_ - context_.first_index}});
  // As long as any rank needs: only the controller knows. It kills, or its end closes the channel.
  while (!replies_.wait(kExitKey, std::chrono::hours(1))) replies_.expect(kExitKey);
}

void WorkerProcess::fail(const Error& error) {
  const Error short_error(error.code(), error.message().substr(0, kMaxErrorBytes),
                          error.traceback().substr(0, kMaxErrorBytes));
  fault_point("worker.failed");
  channel_->send(Map{{"type", "failed"}, {"error", error_to_value(short_error, monotonic_s())}});
  channel_->flush(kFlushTimeout);
}

std::chrono::milliseconds WorkerProcess::user_timeout() const {
  return std::chrono::milliseconds(static_cast<int64_t>(context_.timeout_s * 1000));
}

Value WorkerProcess::call_store(Map request) { return call(std::move(request), std::nullopt, ""); }

Value WorkerProcess::wait_store(Map request, std::chrono::milliseconds timeout,
                                const std::string& keys) {
  return call(std::move(request), timeout, keys);
}

int64_t WorkerProcess::request(Map message) {
  const int64_t id = ++last_call_;
  message.set("id", id);
  replies_.expect(call_key(id));
  send(message);
  return id;
}

std::optional<Value> WorkerProcess::wait_reply(int64_t id, std::chrono::milliseconds timeout) {
  return replies_.wait(call_key(id), timeout);
}

Value WorkerProcess::call(Map message, std::optional<std::chrono::milliseconds> timeout,
                          const std::string& what) {
  message.set("type", "call");
  const int64_t id = request(std::move(message));
  auto answer = wait_reply(id, timeout.value_or(kGrace));
  if (answer) return std::move(*answer);
  channel_->send(Map{{"type", "cancel"}, {"id", id}});
  if (!timeout) throw Error(Code::kTimeout, "the controller does not answer");
  throw Error(Code::kTimeout, cat("waited ", static_cast<double>(timeout->count()) / 1000,
                                  " s for ", what, " of another rank"));
}

void WorkerProcess::post_store(Map request) {
  request.set("type", "call");
  channel_->send(request);
}

}  // namespace rtrain
