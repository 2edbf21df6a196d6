#include "host/worker/progress.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>

#include "host/base/clock.h"
#include "host/base/text/text.h"
#include "host/base/users_line.h"
#include "host/lua/libraries/engine_loader.h"
#include "host/worker/profile/device_trace.h"
#include "host/worker/worker_process.h"

namespace rtrain::worker {
namespace {

// A checkpoint of which no bytes are copied for this time is not waited for any more.
constexpr double kStandstillS = 10;
constexpr std::chrono::milliseconds kLook{100};

thread_local bool is_main_thread = false;

void enter_blocking(WaitKind kind, const char* operation) {
  if (auto* worker = WorkerProcess::current()) worker->progress().enter(kind, operation);
}

void leave_blocking() {
  if (auto* worker = WorkerProcess::current()) worker->progress().leave();
}

PhaseClock* current_phases() {
  auto* worker = WorkerProcess::current();
  return worker == nullptr ? nullptr : worker->progress().phases();
}

int enter_phase(TrainPhase phase) {
  PhaseClock* phases = current_phases();
  return phases == nullptr ? -1 : phases->enter(phase);
}

void leave_phase(int depth) {
  if (auto* worker = WorkerProcess::current()) worker->progress().leave_phase(depth);
}

void mark_collective() {
  if (auto* worker = WorkerProcess::current()) worker->progress().mark_collective();
}

uint64_t enter_collective(const char* operation, const std::string& tensors,
                          api::CollectiveGroup* group) {
  auto* worker = WorkerProcess::current();
  return worker == nullptr ? 0 : worker->progress().enter_collective(operation, tensors, group);
}

void set_device_wait(uint64_t number) {
  if (auto* worker = WorkerProcess::current()) worker->progress().set_device_wait(number);
}

std::optional<std::string> absent_ranks(uint64_t number, const api::CollectiveGroup* group) {
  auto* worker = WorkerProcess::current();
  return worker == nullptr ? std::nullopt : worker->progress().absent_ranks(number, group);
}

void end_worker(const Error& error) {
  if (auto* worker = WorkerProcess::current()) worker->end(error);
}

std::string describe(const pages::CollectiveCall& call, int rank) {
  const std::string_view line = call.line.view();
  return cat("rank ", rank, " calls ", call.operation.view(), "(", call.tensors.view(), ")",
             line.empty() ? "" : " at ", line);
}

// Called at every wait and collective, so it does not use the C library's formatting.
void write_frame(const lua_Debug& info, pages::PageFrame& out) {
  constexpr size_t kLineDigits = 12;
  const std::string_view source = info.short_src;
  const size_t size = std::min(source.size(), sizeof(out.bytes) - kLineDigits);
  char* end = std::copy_n(source.data(), size, out.bytes);
  *end++ = ':';
  end = std::to_chars(end, std::end(out.bytes) - 1, info.currentline).ptr;
  *end = '\0';
}

bool is_member(int rank, const api::CollectiveGroup* group) {
  return group == nullptr || std::ranges::find(group->ranks, rank) != group->ranks.end();
}

// How many collectives of the group a rank has called, as far as its page still shows them.
uint64_t count_of(const pages::ProgressPage& page, const api::CollectiveGroup* group) {
  return group == nullptr ? page.collectives.load(std::memory_order_acquire)
                          : page.group_count(group->id);
}

std::optional<pages::CollectiveCall> call_of(const pages::ProgressPage& page, uint64_t sequence,
                                             const api::CollectiveGroup* group) {
  return group == nullptr ? page.call(sequence) : page.group_call(group->id, sequence);
}

std::string of_group(const api::CollectiveGroup* group) {
  return group == nullptr ? "" : " of " + group->text();
}

}  // namespace

Progress::Progress(int fd, int rank)
    : board_(pages::ProgressBoard::Inherited{fd}), rank_(rank), page_(board_.page(rank)) {
  attach();
}

Progress::Progress() : board_(1), rank_(0), page_(board_.page(0)) { attach(); }

// In local mode the thread outlives the page. The page's mutex must not stay in the thread's list
// of robust mutexes, which the kernel and the C library read.
Progress::~Progress() { pthread_mutex_unlock(&page_.alive); }

void Progress::attach() {
  is_main_thread = true;
  const int status = pthread_mutex_lock(&page_.alive);
  if (status == EOWNERDEAD) {
    // A process that was forked for this rank before has ended, since the zygote died meanwhile.
    pthread_mutex_consistent(&page_.alive);
    renew();
  } else if (status != 0) {
    throw Error(Code::kInternal,
                cat("the progress page of rank ", rank_, " is damaged: ", std::strerror(status)));
  }
  beat();
  page_.attached.store(1, std::memory_order_release);
}

int Progress::frames(std::array<pages::PageFrame, pages::kPageFrames>& out) const {
  if (state_ == nullptr || !is_main_thread) return 0;
  int count = 0;
  lua_Debug info;
  for (int level = 0; count < pages::kPageFrames && lua_getstack(state_, level, &info) != 0;
       ++level) {
    if (lua_getinfo(state_, "Sl", &info) == 0 || info.currentline < 0) continue;
    write_frame(info, out[static_cast<size_t>(count++)]);
  }
  return count;
}

void Progress::enter(WaitKind kind, const char* operation) {
  if (!is_main_thread || depth_++ > 0) return;
  if (const api::ProfilerApi* profiler = lua::engine_profiler()) profiler->enter_range(operation);
  page_.blocked.update([&](pages::BlockedCall& call) {
    call.depth = 1;
    call.kind = kind;
    call.since_s = monotonic_s();
    call.operation.set(operation);
    call.num_frames = frames(call.frames);
  });
}

void Progress::leave() {
  if (!is_main_thread || --depth_ > 0) return;
  if (const api::ProfilerApi* profiler = lua::engine_profiler()) profiler->leave_range();
  page_.blocked.update([](pages::BlockedCall& call) { call.depth = 0; });
}

PhaseClock* Progress::phases() { return is_main_thread ? &phases_ : nullptr; }

void Progress::leave_phase(int depth) {
  if (!is_main_thread) return;
  const TrainPhase phase = page_.phases.current.load(std::memory_order_relaxed);
  uint64_t begun = page_.phases.since.load(std::memory_order_relaxed);
  phases_.leave(depth);
  if (phase == TrainPhase::kBackward) begun = std::exchange(marked_, 0);
  if (begun == 0 || (phase != TrainPhase::kBackward && phase != TrainPhase::kCommunication)) return;
  peer_waits_.add(begun, page_.phases.since.load(std::memory_order_relaxed));
}

void Progress::mark_collective() {
  if (!is_main_thread) return;
  phases_.mark_collective();
  const TrainPhase phase = page_.phases.current.load(std::memory_order_relaxed);
  if (phase == TrainPhase::kBackward) marked_ = TimeStampCounter::ticks();
}

void Progress::start_phases() {
  phases_.start();
  peer_waits_.clear();
  page_.report_wait_s.store(0, std::memory_order_relaxed);
}

std::vector<std::pair<const char*, double>> Progress::phase_seconds() {
  auto seconds = phases_.seconds();
  const PhaseCounts& counts = page_.phases;
  const auto all = static_cast<double>(counts.since.load(std::memory_order_relaxed) -
                                       counts.begun.load(std::memory_order_relaxed));
  double all_s = 0;
  for (const double each : seconds) all_s += each;
  const auto take = [&](TrainPhase phase, double part_s) {
    double& whole_s = seconds[static_cast<size_t>(phase)];
    part_s = std::min(part_s, whole_s);
    whole_s -= part_s;
    return part_s;
  };
  const double wait_s = all > 0 ? all_s * static_cast<double>(peer_waits_.ticks()) / all : 0;
  std::vector<std::pair<const char*, double>> out = {
      {"wait", take(TrainPhase::kCommunication, wait_s)},
      {"report", take(TrainPhase::kCheckpoint, page_.report_wait_s.load())}};
  for (size_t i = 0; i < seconds.size(); ++i) out.emplace_back(PhaseClock::kNames[i], seconds[i]);
  return out;
}

// The innermost line of the user's own code.
pages::PageFrame Progress::line() const {
  pages::PageFrame out;
  if (state_ == nullptr || !is_main_thread) return out;
  lua_Debug info;
  for (int level = 0, count = 0;
       count < pages::kPageFrames && lua_getstack(state_, level, &info) != 0; ++level) {
    if (lua_getinfo(state_, "Sl", &info) == 0 || info.currentline < 0) continue;
    const bool is_users = is_users_line(info.short_src);
    if (count++ == 0 || is_users) write_frame(info, out);
    if (is_users) break;
  }
  return out;
}

// Each rank publishes its call before it reads its neighbours' calls. So of two ranks that differ
// the later one sees it before any data move. In a ring some neighbours differ where any ranks do.
uint64_t Progress::enter_collective(std::string_view operation, const std::string& tensors,
                                    api::CollectiveGroup* group) {
  const pages::CollectiveCall mine = publish(operation, tensors, group);
  const std::vector<int>* const some = group == nullptr ? nullptr : &group->ranks;
  const auto size = some == nullptr ? static_cast<size_t>(board_.size()) : some->size();
  if (size >= 2) {
    const auto rank = [&](size_t place) {
      return some == nullptr ? static_cast<int>(place) : (*some)[place];
    };
    size_t own = static_cast<size_t>(rank_);
    for (size_t place = 0; some != nullptr && place < size; ++place) {
      if (rank(place) == rank_) own = place;
    }
    check_returned(mine, group);
    compare(mine, rank((own + 1) % size), group);
    if (size > 2) compare(mine, rank((own + size - 1) % size), group);
    wait_for_saving(mine.sequence, group);
  }
  return group == nullptr ? mine.sequence : 0;
}

void Progress::set_device_wait(uint64_t number) {
  page_.device.write({number, number == 0 ? 0 : monotonic_s()});
}

std::optional<std::string> Progress::absent_ranks(uint64_t number,
                                                  const api::CollectiveGroup* group) const {
  if (board_.size() < 2) return std::nullopt;
  if (number == 0) number = count_of(page_, group);
  std::string out;
  for (int rank = 0; rank < board_.size(); ++rank) {
    const pages::ProgressPage& page = board_.page(rank);
    const uint64_t count = count_of(page, group);
    const bool is_elsewhere = page.attached.load(std::memory_order_acquire) == 0;
    if (rank == rank_ || is_elsewhere || count >= number || !is_member(rank, group)) continue;
    out += cat(out.empty() ? "" : ", ", "rank ", rank, " has not called it");
    if (page.returned.load(std::memory_order_acquire) != 0) {
      out += " and has returned from the train function";
    } else if (const auto last = call_of(page, count, group)) {
      out += cat(", its last one is collective ", count, ", ", last->operation.view(), "(",
                 last->tensors.view(), ")", last->line.view().empty() ? "" : " at ",
                 last->line.view());
    }
  }
  return out;
}

pages::CollectiveCall Progress::publish(std::string_view operation, const std::string& tensors,
                                        api::CollectiveGroup* group) {
  const std::lock_guard lock(collectives_);
  pages::CollectiveCall mine;
  mine.time_s = monotonic_s();
  mine.operation.set(operation);
  mine.tensors.set(tensors);
  mine.line = line();
  last_group_ = group == nullptr ? std::nullopt : std::optional(*group);
  if (group == nullptr) {
    mine.sequence = page_.collectives.load(std::memory_order_relaxed) + 1;
    page_.calls[mine.sequence % pages::ProgressPage::kCollectives].write(mine);
    add(page_.collectives, 1);
    const uint64_t ticks = TimeStampCounter::ticks();
    const auto& last = board_.enter_collective(mine.sequence, ticks);
    if (is_main_thread) peer_waits_.enter(ticks, last);
  } else {
    mine.sequence = ++group->count;
    const uint64_t number = page_.group_collectives.load(std::memory_order_relaxed);
    page_.group_calls[number % pages::ProgressPage::kGroupCalls].write({group->id, mine});
    add(page_.group_collectives, 1);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return mine;
}

// Waits before the collective, since Gloo's deadline cannot be moved once it runs. The wait ends
// when no bytes are copied for kStandstillS: the other rank's wait has a deadline of its own.
void Progress::wait_for_saving(uint64_t sequence, const api::CollectiveGroup* group) const {
  for (int rank = 0; rank < board_.size(); ++rank) {
    const pages::ProgressPage& page = board_.page(rank);
    if (!page.saving.is_set() || !is_member(rank, group)) continue;
    uint64_t moved = copied_bytes();
    double moved_s = monotonic_s();
    while (page.saving.is_set() && count_of(page, group) < sequence &&
           monotonic_s() - moved_s < kStandstillS) {
      page.saving.wait_while_set(kLook);
      const uint64_t now = copied_bytes();
      if (now == moved) continue;
      moved = now;
      moved_s = monotonic_s();
    }
  }
}

void Progress::compare(const pages::CollectiveCall& mine, int other,
                       const api::CollectiveGroup* group) const {
  if (other >= board_.size()) return;  // on a later node, whose pages are not here
  const auto theirs = call_of(board_.page(other), mine.sequence, group);
  if (!theirs || theirs->agrees_with(mine)) return;
  throw Error(Code::kUser,
              cat("the ranks disagree on collective ", mine.sequence, of_group(group), ": ",
                  describe(mine, rank_), ", but ", describe(*theirs, other),
                  ": every rank must call the same collectives in the same order, with tensors of "
                  "the same shape and dtype"));
}

void Progress::check_returned(const pages::CollectiveCall& mine,
                              const api::CollectiveGroup* group) const {
  for (int rank = 0; rank < board_.size(); ++rank) {
    const pages::ProgressPage& page = board_.page(rank);
    if (page.returned.load(std::memory_order_acquire) == 0 || !is_member(rank, group)) continue;
    const uint64_t count = count_of(page, group);
    if (count >= mine.sequence) continue;
    throw Error(Code::kUser,
                cat(describe(mine, rank_), " as collective ", mine.sequence, of_group(group),
                    ", but rank ", rank, " has already returned from the train function after ",
                    count, " collectives: every rank must call the same collectives"));
  }
}

Error Progress::explain(const Error& error) const {
  if (error.code() != Code::kPeerLost) return error;
  const std::lock_guard lock(collectives_);
  const api::CollectiveGroup* group = last_group_ ? &*last_group_ : nullptr;
  for (int rank = 0; rank < board_.size(); ++rank) {
    const pages::ProgressPage& page = board_.page(rank);
    if (rank == rank_ || page.returned.load(std::memory_order_acquire) == 0) continue;
    if (!is_member(rank, group) || count_of(page, group) >= count_of(page_, group)) continue;
    return Error(Code::kUser,
                 cat("rank ", rank_, " waited for rank ", rank,
                     ", which has already returned from the train function: every rank must call "
                     "the same collectives (",
                     error.message(), ")"),
                 error.traceback());
  }
  return Error(
      error.code(),
      cat(error.message(), ": look for that rank's own error, or the signal that ended it"),
      error.traceback());
}

void Progress::set_busy(std::string_view reason, double seconds) {
  pages::BusyCall call;
  call.until_s = monotonic_s() + seconds;
  call.reason.set(reason);
  page_.busy.write(call);
}

bool Progress::lease_has_ended() const {
  const double until_s = page_.lease_s.load(std::memory_order_relaxed);
  return until_s > 0 && boot_s() > until_s;
}

void Progress::add_report_wait(double seconds) {
  if (!is_main_thread) return;
  const double before_s = page_.report_wait_s.load(std::memory_order_relaxed);
  page_.report_wait_s.store(before_s + seconds, std::memory_order_relaxed);
}

void Progress::renew() {
  const std::lock_guard lock(collectives_);
  last_group_.reset();
  for (auto& call : page_.calls) call.write({});
  for (auto& call : page_.group_calls) call.write({});
  page_.device.write({});
  page_.group_collectives.store(0, std::memory_order_relaxed);
  page_.collectives.store(0, std::memory_order_release);
}

void Progress::beat() { page_.beat_s.store(monotonic_s(), std::memory_order_relaxed); }

void Progress::add_functions(api::HostApi& api) {
  api.enter_blocking = &worker::enter_blocking;
  api.leave_blocking = &worker::leave_blocking;
  api.enter_phase = &worker::enter_phase;
  api.leave_phase = &worker::leave_phase;
  api.mark_collective = &worker::mark_collective;
  api.enter_collective = &worker::enter_collective;
  api.set_device_wait = &worker::set_device_wait;
  api.absent_ranks = &worker::absent_ranks;
  api.end_worker = &worker::end_worker;
  api.set_device_trace = &set_device_trace;
  auto* worker = WorkerProcess::current();
  if (worker == nullptr || worker->is_local()) return;
  api.operators = &worker->progress().page().operators;
  api.batches = &worker->progress().page().batches;
}

}  // namespace rtrain::worker
