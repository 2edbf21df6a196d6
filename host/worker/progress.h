// host/worker/progress.h: writes this worker's page of shared memory: its progress, its waits and
// the collectives that it has called.
//
// One per worker process, made on its main thread before any other thread. Any thread may call the
// methods unless they say otherwise. Only waits of the main thread are shown, since the other ranks
// wait for that thread. Writing costs no system call and no lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/api/host_api.h"
#include "host/base/error.h"
#include "host/base/phase_clock.h"
#include "host/lua/lua.h"
#include "host/lua/thread_state.h"
#include "host/pages/progress_board.h"
#include "host/worker/peer_waits.h"

namespace rtrain::worker {

// One method for each state that the page shows.
class Progress {
 public:
  // Maps the board of this descriptor and marks the rank as alive. Throws Error(kInternal).
  Progress(int fd, int rank);
  // With a board that no other process reads: for a train function in the controller's process.
  Progress();
  // Thread: the one that made it.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Sets the Lua state whose lines are shown; null before it is closed. Main thread.
  void set_state(lua_State* L) {
    state_ = L;
    lua::set_thread_state(L);
  }
  lua_State* state() const { return state_; }

  // Call these before and after a call that may wait for something outside this process. Of nested
  // calls the outermost is shown.
  void enter(WaitKind kind, const char* operation);
  void leave();
  // The clock that divides the main thread's time among phases; null on another thread.
  PhaseClock* phases();
  // As the clock's methods; on another thread they do nothing. A collective that has been marked is
  // over when its backward is.
  void leave_phase(int depth);
  void mark_collective();
  // The train function begins: its time counts from here on. Main thread.
  void start_phases();
  // The seconds of each phase so far, by name. "wait" is not in "communication", nor "report" in
  // "checkpoint": waits for ranks of this node that enter a collective later, and for the reports
  // of the other ranks and their commit. Main thread.
  std::vector<std::pair<const char*, double>> phase_seconds();
  // Call this before a collective moves data. Throws Error(kUser), which names both lines, when
  // another rank has called a different collective in its place, or has returned and will not call
  // it. Waits for ranks that are still saving a checkpoint; the collective's own deadline begins
  // after that. Returns the collective's number; 0 for one of a group of some ranks.
  uint64_t enter_collective(std::string_view operation, const std::string& tensors,
                            api::CollectiveGroup* group = nullptr);
  // The device waits in the collective with this number; 0: in none. Always the same thread.
  void set_device_wait(uint64_t number);
  // Text about the ranks of this board that have not called the collective with this number, or
  // with 0 this rank's latest. Empty: all have called it. Nullopt: the board has only this rank.
  std::optional<std::string> absent_ranks(uint64_t number,
                                          const api::CollectiveGroup* group = nullptr) const;
  // Memory that the ranks of this node have, each; of a spare.
  int64_t wanted_bytes() const { return page_.memory_bytes.load(std::memory_order_relaxed); }
  // For this time no silence of this rank counts as a hang.
  void set_busy(std::string_view reason, double seconds);

  // The rank runs this program. When the program is stopped, the rank counts as stopped.
  void set_program(int pid) { page_.program.store(pid, std::memory_order_release); }

  // The train function has returned. Call it before closing things that another rank may wait for.
  void set_returned() { page_.returned.store(1, std::memory_order_release); }
  // Returns `error`, or a better one by the other ranks' pages: a rank that has returned too early
  // is not a lost peer, but an error of the user's code.
  Error explain(const Error& error) const;

  uint64_t num_collectives() const { return page_.collectives.load(std::memory_order_relaxed); }
  // The rank continues in another attempt, in which its collectives count from 1 again.
  void renew();

  void beat();
  // Whether the rank's lease has ended: the agent of this node did not renew it, since it is
  // stopped or has lost the controller, which continues without this rank.
  bool lease_has_ended() const;
  void count_report() { add(page_.reports, 1); }
  void add_bytes(uint64_t count) { add(page_.bytes, count); }
  // The main thread has waited that long for a report; on another thread it does nothing.
  void add_report_wait(double seconds);
  // Bytes of checkpoints that all ranks of the board have copied.
  uint64_t copied_bytes() const { return board_.copied_bytes(); }
  // The main thread begins to wait for its checkpoint; this wait has ended.
  void begin_saving() { page_.saving.set(); }
  void end_saving() { page_.saving.clear(); }
  // Writes the frames of the main thread's Lua stack; returns their number. Main thread.
  int frames(std::array<pages::PageFrame, pages::kPageFrames>& out) const;

  pages::ProgressPage& page() { return page_; }
  // A spare takes this rank's place. While the main thread waits for that.
  void set_rank(int rank) { rank_ = rank; }

  // Sets the functions of `api` with which the engine shows its work; outside of a worker they do
  // nothing. The counters are set only in a worker process, since they must outlive the engine.
  static void add_functions(api::HostApi& api);

 private:
  static void add(std::atomic<uint64_t>& counter, uint64_t count) {
    counter.store(counter.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
  void attach();
  pages::CollectiveCall publish(std::string_view operation, const std::string& tensors,
                                api::CollectiveGroup* group);
  void compare(const pages::CollectiveCall& mine, int other,
               const api::CollectiveGroup* group) const;
  void check_returned(const pages::CollectiveCall& mine, const api::CollectiveGroup* group) const;
  void wait_for_saving(uint64_t sequence, const api::CollectiveGroup* group) const;
  pages::PageFrame line() const;

  pages::ProgressBoard board_;
  int rank_;
  pages::ProgressPage& page_;
  lua_State* state_ = nullptr;
  int depth_ = 0;  // main thread only
  PhaseClock phases_{&page_.phases};
  PeerWaits peer_waits_;
  uint64_t marked_ = 0;  // when a backward has begun the collective that it waits for; 0: in none
  mutable std::mutex collectives_;
  std::optional<api::CollectiveGroup>
      last_group_;  // of this rank's last collective; nullopt: of all ranks
};

// While it exists, the page shows that this worker waits in `operation`.
class WaitScope {
 public:
  WaitScope(Progress& progress, WaitKind kind, const char* operation)
      : progress_(progress),
        phases_(needs_peers(kind) ? progress.phases() : nullptr),
        begun_s_(kind == WaitKind::kReport ? monotonic_s() : 0) {
    progress_.enter(kind, operation);
    if (phases_ != nullptr) depth_ = phases_->enter(TrainPhase::kCommunication);
  }
  ~WaitScope() {
    if (phases_ != nullptr) phases_->leave(depth_);
    if (begun_s_ > 0) progress_.add_report_wait(monotonic_s() - begun_s_);
    progress_.leave();
  }
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;

 private:
  Progress& progress_;
  PhaseClock* phases_;
  int depth_ = 0;
  double begun_s_;  // of a wait for a report; 0: of another kind
};

// While it exists, the page shows that the main thread waits for a checkpoint.
class SavingScope {
 public:
  explicit SavingScope(Progress& progress) : progress_(progress) { progress_.begin_saving(); }
  ~SavingScope() { progress_.end_saving(); }
  SavingScope(const SavingScope&) = delete;
  SavingScope& operator=(const SavingScope&) = delete;

 private:
  Progress& progress_;
};

}  // namespace rtrain::worker
