#include "host/worker/worker_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "host/base/background_thread.h"
#include "host/base/clock.h"
#include "host/base/codec/codec.h"
#include "host/base/fault.h"
#include "host/base/text/text.h"
#include "host/loop/channel/frame.h"
#include "host/loop/processes/process.h"
#include "host/loop/processes/worker_descriptors.h"
#include "host/loop/signal.h"
#include "host/loop/timer.h"
#include "host/lua/libraries/engine_loader.h"
#include "host/machine/memory_pressure.h"
#include "host/machine/processes/build_id.h"
#include "host/machine/processes/process_facts.h"
#include "host/store/checkpoints/checkpoint_files.h"
#include "host/worker/crash_handler.h"
#include "host/worker/profile/device_trace.h"
#include "host/worker/profile/link_sampler.h"
#include "host/worker/profile/native_stack.h"
#include "host/worker/profile_recording.h"
#include "host/worker/report/controller_lost.h"
#include "host/worker/report/worker_patience.h"
#include "host/worker/stack_report.h"

namespace rtrain::worker {
namespace {

constexpr std::chrono::milliseconds kFailFlushTimeout{500};  // the other ranks wait for the error
// The time that a worker which cannot continue gives the controller to ask for stacks and kill it.
constexpr std::chrono::milliseconds kEndPatience{10000};
constexpr std::chrono::milliseconds kHeartbeat{1000};
constexpr std::chrono::milliseconds kMemoryDelay{10000};
// After this many bytes of annotations and media the worker waits for the store.
constexpr size_t kAskBytes = size_t{1} << 20;
// A returned value is sent in one message, together with the message's other fields.
constexpr size_t kMaxReturnBytes = loop::kMaxFrameBytes - 4096;
constexpr const char* kStartKey = "start";
constexpr const char* kExitKey = "exit";
constexpr const char* kPlaceKey = "place";

WorkerProcess* current_worker = nullptr;

std::string call_key(int64_t id) { return cat("call ", id); }

void block_all_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

constexpr const char* kNoProfile =
    "its node does not see the disk of the run's first one, where profiles are written";

void check_return_value(const Value& value) {
  const size_t bytes = encode(value).size();
  if (bytes <= kMaxReturnBytes) return;
  throw Error(Code::kArgument,
              cat("the train function's return value has ", bytes, " bytes, the limit is ",
                  kMaxReturnBytes, ": put large data into a checkpoint"));
}

}  // namespace

WorkerProcess::WorkerProcess(int rank, int parent_pid) : place_(rank) {
  loop::die_with_parent(parent_pid);
  use_processors_of(parent_pid);
  // Programs that this process starts do not inherit the channel, the page and the held cores.
  close_range(loop::kChannelFd, ~0U, CLOSE_RANGE_CLOEXEC);
  block_all_signals();
  progress_ = std::make_unique<Progress>(loop::kProgressFd, rank);
  install_crash_handler(*progress_);
  install_stack_signal();
  setvbuf(stdout, nullptr, _IOLBF,
          0);  // else a pipe gets blocks of 4 KiB, and a signal loses the last
  // Without a controller no process takes the train function's results, so it is ended, with the
  // processes that it has started, which are in its process group.
  begin(loop::kChannelFd, [](const std::string&) { kill(0, SIGKILL); });
}

WorkerProcess::WorkerProcess(LocalEndpoint endpoint)
    : passes_signals_(endpoint.passes_signals), held_open_(dup(endpoint.channel_fd)) {
  progress_ = std::make_unique<Progress>();
  idle_.set(std::move(endpoint.idle));
  begin(endpoint.channel_fd, [this, closed = std::move(endpoint.closed)](const std::string&) {
    replies_.close();
    attempt_->close();
    closed();
  });
}

void WorkerProcess::begin(int fd, loop::Channel::OnClose on_close) {
  RT_CHECK(current_worker == nullptr);
  current_worker = this;
  replies_.expect_lasting(kStartKey);
  replies_.expect_lasting(kExitKey);
  channel_ = std::make_unique<loop::Channel>(
      loop_, fd, [this](Value message) { kRoutes.deliver(*this, std::move(message)); },
      std::move(on_close));
  attempt_ = std::make_unique<OfAttempt>(*this);
  series_log_ = std::make_unique<SeriesLog>(loop_, *channel_);
  control_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "rtrain-control");
    if (passes_signals_) return take_signals();
    loop_.run();
  });
  memory_pressure_.emplace(&machine::MemoryPressure::open_triggers, kMemoryDelay,
                           [] { machine::give_back_cached_memory(); });
  fault_point("worker.hello");
  // Where the attempt has ended already, wait_for_start() throws.
  tell(message::Hello{
      .version = loop::kProtocolVersion, .build_id = machine::build_id(), .pid = getpid()});
}

WorkerProcess::OfAttempt::OfAttempt(WorkerProcess& worker)
    : reporter(*worker.channel_, worker.context_, worker.pending_writes_, worker.idle_,
               *worker.progress_, worker.commits_),
      collectives(worker),
      checkpoints(worker) {}

void WorkerProcess::OfAttempt::close() {
  reporter.close();
  stop_gate.close();
}

WorkerProcess::~WorkerProcess() {
  replies_.close();
  attempt_->close();
  loop_.post([this] {
    channel_->close();
    loop_.stop();
  });
  control_.join();
  current_worker = nullptr;
  if (held_open_ >= 0) ::close(held_open_);
}

WorkerProcess* WorkerProcess::current() { return current_worker; }

// Signals for the whole job (Ctrl-C to a process group, scancel) also reach the workers, often
// before the controller. Only the controller decides what they mean.
void WorkerProcess::take_signals() {
  std::vector<std::unique_ptr<loop::Signal>> signals;
  sigset_t taken;
  sigemptyset(&taken);
  for (const int number : loop::kStopSignals) {
    sigaddset(&taken, number);
    signals.push_back(std::make_unique<loop::Signal>(
        loop_, number, [this, number] { tell(message::Signal{.number = number}); }));
  }
  pthread_sigmask(SIG_UNBLOCK, &taken, nullptr);
  loop::Timer heart(loop_, [this, &heart] {
    fault_point("worker.beat");
    progress_->beat();
    if (progress_->lease_has_ended()) kill(0, SIGKILL);
    heart.start(kHeartbeat);
  });
  heart.start(std::chrono::milliseconds(0));
  LinkSampler links(loop_, progress_->page());
  loop_.run();
}

const loop::Routes<message::ToWorker, WorkerProcess> WorkerProcess::kRoutes{
    loop::on<loop::WorkerContext>(
        [](WorkerProcess& w, loop::WorkerContext m) { w.on_start(std::move(m)); }),
    loop::on<message::Reply>([](WorkerProcess& w, message::Reply m) {
      w.replies_.set(call_key(m.id), std::move(m.value), std::move(m.error));
    }),
    loop::on<message::Part>(
        [](WorkerProcess& w, const auto& m) { w.attempt_->checkpoints.on_part(m); }),
    loop::on<message::AskStack>([](WorkerProcess& w, const auto& m) { w.send_stacks(m); }),
    loop::on<message::AskProfile>([](WorkerProcess& w, const auto& m) { w.send_profile(m); }),
    loop::on<message::Acknowledged>(
        [](WorkerProcess& w, const auto& m) { w.attempt_->reporter.on_acknowledged(m); }),
    loop::on<message::Named>(
        [](WorkerProcess& w, const auto& m) { w.attempt_->reporter.on_named(m); }),
    loop::on<message::Seal>(
        [](WorkerProcess& w, const auto& m) { w.attempt_->reporter.on_seal(m); }),
    loop::on<message::Reported>([](WorkerProcess& w, message::Reported m) {
      m.path = w.far_paths_.here(m.path);
      w.attempt_->reporter.on_reported(m);
    }),
    loop::on<message::StopPrepare>([](WorkerProcess& w, const auto& m) { w.on_stop_prepare(m); }),
    loop::on<message::StopRelease>(
        [](WorkerProcess& w, const auto& m) { w.attempt_->stop_gate.release(m.at); }),
    loop::on<message::Grow>([](WorkerProcess& w, message::Grow m) {
      const bool is_cancelled = m.folder.empty() && !m.is_in_place;
      w.attempt_->growth.set_folder(is_cancelled ? std::nullopt : std::optional(m.folder));
    }),
    loop::on<message::PeerLost>([](WorkerProcess& w, const auto& m) { w.on_peer_lost(m); }),
    loop::on<message::Exit>([](WorkerProcess& w, const auto&) { w.replies_.set(kExitKey, {}); }),
};

// A second `start` and later ones begin another attempt. The main thread waits for it meanwhile and
// uses no object of the attempt before: the lock of `replies_`, which it took before it began to
// wait, is taken here first.
void WorkerProcess::on_start(loop::WorkerContext context) {
  replies_.resume();
  if (context_.is_spare) {
    steps_back_->step_forward();
    next_ = std::move(context);
    return begin_place();
  }
  begin_attempt(std::move(context));
  if (context_.is_spare) steps_back_.emplace(getpid());
  is_spare_ = context_.is_spare;
  replies_.set(kStartKey, {});
}

void WorkerProcess::begin_attempt(loop::WorkerContext context) {
  const bool is_another = !context_.run_id.empty();
  context_ = std::move(context);
  far_paths_ = FarPaths::enter(context_);
  if (!far_paths_.is_empty() && !far_files_) far_files_ = std::make_unique<FarFiles>(*this);
  if (is_another) attempt_ = std::make_unique<OfAttempt>(*this);
}

// The main thread of a spare waits, and the place is known. From here on it is like any other
// replacement of a lost rank.
void WorkerProcess::begin_place() {
  if (!next_ || !awaits_place_) return;
  begin_attempt(*std::exchange(next_, std::nullopt));
  place_ = context_.place;
  progress_->set_rank(place_);
  has_place_ = true;
  replies_.set(kPlaceKey, {});
}

// Without a deadline: the process ends with the run.
void WorkerProcess::take_place() {
  if (!is_spare_ || std::this_thread::get_id() != main_) return;
  fault_point("spare.wait");
  replies_.expect_lasting(kPlaceKey);
  loop_.post([this] {
    awaits_place_ = true;
    begin_place();
  });
  // The first steps in a rank's place take memory without waiting for the kernel.
  const int64_t missing = progress_->wanted_bytes() - machine::process_facts(getpid()).memory_bytes;
  machine::cache_memory(missing, [this] { return has_place_.load(); });
  while (!replies_.wait(kPlaceKey, std::chrono::hours(1))) replies_.expect_lasting(kPlaceKey);
  is_spare_ = false;
  set_fault_process(place_);
  set_fault_attempt(context_.attempt);
}

void WorkerProcess::on_peer_lost(const message::PeerLost& lost) {
  replies_.interrupt(Error(Code::kPeerLost, lost.text));
  lua::cut_groups();
  attempt_->reporter.interrupt();
  attempt_->stop_gate.close();
}

void WorkerProcess::on_stop_prepare(const message::StopPrepare& prepare) {
  send(message::StopCalls{.round = prepare.round, .calls = attempt_->stop_gate.hold()});
}

// Takes as long as the slowest thread needs to answer.
void WorkerProcess::send_stacks(const message::AskStack& asked) {
  send_aside("rtrain-stack",
             [this, asked, rank = context_.world_rank, is_near = far_paths_.is_empty()] {
               if (!asked.folder.empty() && is_near) write_device_trace(asked.folder, rank);
               message::Stack stack = stack_report(*progress_);
               stack.id = asked.id;
               return stack;
             });
}

// Takes as long as the profile, and another attempt may begin meanwhile.
void WorkerProcess::send_profile(const message::AskProfile& asked) {
  send_aside("rtrain-profile", [this, asked, context = context_, is_near = far_paths_.is_empty()] {
    message::Profile profile = is_near ? record_profile(*progress_, asked, context)
                                       : message::Profile{.error = kNoProfile};
    profile.id = asked.id;
    return profile;
  });
}

// Makes and sends an answer on a thread of its own. Sends none when the channel is closed, when no
// thread can be started, or when the answer is too long for a message.
void WorkerProcess::send_aside(const char* thread, std::function<message::ToController()> make) {
  const auto work = [this, thread, make = std::move(make)] {
    pthread_setname_np(pthread_self(), thread);
    try {
      channel_->send(to_value(make()));
    } catch (const std::exception& e) {
      std::fprintf(stderr, "rtrain: %s: %s\n", thread, e.what());
    }
  };
  try {
    std::thread(work).detach();
  } catch (const std::system_error& e) {
    std::fprintf(stderr, "rtrain: %s: %s\n", thread, e.what());
  }
}

void WorkerProcess::send(message::ToController message) {
  if (!channel_->send(to_value(std::move(message)))) throw controller_lost();
}

void WorkerProcess::wait_for_start() {
  if (!replies_.wait(kStartKey, std::chrono::hours(1))) {
    throw Error(Code::kTimeout, "the controller has not sent 'start'");
  }
  set_fault_attempt(context_.attempt);
}

int64_t WorkerProcess::num_collectives() const {
  return static_cast<int64_t>(progress_->num_collectives()) + attempt_->collectives.count();
}

// Uploads that still run belong to the attempt that ends, so they are ended first.
void WorkerProcess::change_attempt(message::Unwound unwound) {
  const WaitScope waits(*progress_, WaitKind::kBounded, "train.elastic");
  attempt_->close();
  attempt_->reporter.end_uploads();
  series_log_->flush(kFailFlushTimeout);
  replies_.expect_lasting(kStartKey);
  send(std::move(unwound));
  if (!replies_.wait(kStartKey, to_ms(context_.timeout_s))) {
    throw controller_silent("train.elastic", context_.timeout_s);
  }
  progress_->renew();
  set_fault_attempt(context_.attempt);
}

std::string WorkerProcess::functions() const {
  struct stat info {};
  if (fstat(loop::kFunctionsFd, &info) != 0)
    throw Error(Code::kInternal, "no train function was passed");
  std::string out(static_cast<size_t>(info.st_size), '\0');
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t n =
        pread(loop::kFunctionsFd, out.data() + done, out.size() - done, static_cast<off_t>(done));
    if (n <= 0) throw Error(Code::kInternal, "the train function cannot be read");
    done += static_cast<size_t>(n);
  }
  return out;
}

void WorkerProcess::set_phase(std::string_view name) {
  send(message::Phase{.name = std::string(name)});
}

void WorkerProcess::report_health(std::string_view text, bool is_conclusive) {
  tell(message::Health{.text = std::string(text), .is_conclusive = is_conclusive});
}

void WorkerProcess::annotate(std::string_view severity, std::string_view text) {
  message::Annotation note{
      .time_ms = now_ms(), .severity = std::string(severity), .text = std::string(text)};
  send_stored(std::move(note), text.size(), "train.annotate()");
}

void WorkerProcess::log_media(message::Media media) {
  media_limits_.add(media);
  media.time_ms = now_ms();
  const size_t bytes = media.data.size();
  const std::string call = cat("train.log_", media.kind, "()");
  send_stored(std::move(media), bytes, call);
}

template <class Message>
void WorkerProcess::send_stored(Message message, size_t bytes, const std::string& call) {
  unasked_bytes_ += bytes;
  if (unasked_bytes_ < kAskBytes) return send(std::move(message));
  unasked_bytes_ = 0;
  const int64_t id = request(std::move(message));
  const WaitScope waits(*progress_, WaitKind::kOwn, call.c_str());
  if (!wait_reply(id, to_ms(context_.timeout_s))) {
    throw controller_silent(call, context_.timeout_s);
  }
}

bool WorkerProcess::stop_requested() {
  take_place();
  // Other ranks are lost, but this rank must reach its commit first.
  if (attempt_->stop_gate.is_closed() && commits_.is_between()) return false;
  const auto timeout = std::chrono::duration<double>(context_.timeout_s) + kAnswerGrace;
  const WaitScope waits(*progress_, WaitKind::kBounded, "stop_requested()");
  const auto requested =
      attempt_->stop_gate.call(std::chrono::ceil<std::chrono::milliseconds>(timeout));
  if (!requested) {
    throw Error(Code::kTimeout, cat("stop_requested(): the controller has been agreeing with the "
                                    "other ranks on where to stop for more than ",
                                    context_.timeout_s, " s (timeout_s)"));
  }
  if (*requested && !std::exchange(attempt_->stop_seen, true)) {
    const int64_t index = context_.first_index + attempt_->reporter.num_reports();
    send(message::StopSeen{.index = index});
  }
  return *requested;
}

std::string WorkerProcess::make_tempdir() {
  take_place();
  const WaitScope waits(*progress_, WaitKind::kOwn, "train.tempdir");
  return store::CheckpointFiles(context_.run_path, worker_patience())
      .make_tempdir(context_.attempt, context_.nonce);
}

void WorkerProcess::finish(const Value& value) {
  check_return_value(value);
  reporter().finish();
  if (!series_log_->flush(to_ms(context_.timeout_s))) {
    throw controller_silent("train.log()", context_.timeout_s);
  }
  fault_point("worker.returned");
  send(message::Returned{.value = value});
  // Waits for the slowest rank, without a deadline. The wait ends when the controller does.
  while (!replies_.wait(kExitKey, std::chrono::hours(1))) replies_.expect_lasting(kExitKey);
}

void WorkerProcess::set_gpus(const std::vector<int>& gpus) { send(message::Gpus{.gpus = gpus}); }

void WorkerProcess::fail(const Error& raised) {
  if (!has_failed_.exchange(true)) return send_failure(progress_->explain(raised), false);
  if (!is_local()) std::this_thread::sleep_for(kEndPatience);  // another thread sends an error
}

// Closes the reporter first: reports that the train function still makes must not count.
void WorkerProcess::end(const Error& error) {
  if (!has_failed_.exchange(true)) {
    attempt_->reporter.close();
    send_failure(progress_->explain(error), !is_local());
  }
  if (is_local()) return;
  std::this_thread::sleep_for(kEndPatience);
  std::_Exit(exit_code(error.code()));
}

void WorkerProcess::send_failure(const Error& error, bool stays) {
  fault_point("worker.failed");
  series_log_->flush(kFailFlushTimeout);
  tell(message::Failed{.error = error, .time_s = monotonic_s(), .stays = stays});
  if (channel_->flush(to_ms(context_.timeout_s)) == loop::Channel::Flushed::kAll) return;
  // The controller does not read, so the error goes to the log.
  std::fprintf(stderr, "rtrain: %s\n", error.message().c_str());
}

Value WorkerProcess::ask_script(const std::string& name, Value argument, double timeout_s,
                                const std::string& setting) {
  const int64_t id = request(message::AskScript{
      .name = name, .argument = std::move(argument), .timeout_s = timeout_s, .setting = setting});
  const WaitScope waits(*progress_, WaitKind::kBounded, name.c_str());
  auto answer = wait_reply(id, to_ms(timeout_s) + kAnswerGrace);
  if (!answer) throw controller_silent(name, timeout_s);
  return std::move(*answer);
}

void WorkerProcess::expect_reply(int64_t id) { replies_.expect(call_key(id)); }

std::optional<Value> WorkerProcess::wait_reply(int64_t id, std::chrono::milliseconds timeout,
                                               const std::function<bool()>& moves) {
  return replies_.wait(call_key(id), timeout, moves);
}

Value WorkerProcess::wait_call(int64_t id, std::optional<std::chrono::milliseconds> timeout,
                               const std::string& what) {
  auto answer = wait_reply(id, timeout.value_or(to_ms(context_.timeout_s)));
  if (answer) return std::move(*answer);
  tell(message::Cancel{.id = id});
  if (!timeout) throw controller_silent("the processes' store", context_.timeout_s);
  throw Error(Code::kTimeout, cat("waited ", static_cast<double>(timeout->count()) / 1000,
                                  " s for ", what, " of another rank"));
}

}  // namespace rtrain::worker
