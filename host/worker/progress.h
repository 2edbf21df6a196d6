// host/worker/progress.h: this worker's page: what it does, where it waits, which collectives it
// has called.
//
// One per worker process, made on its main thread before any other thread. The methods may be
// called by any thread unless they say otherwise; waits are shown of the main thread alone, since
// only that one holds the others up. Writing costs no system call and no lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "host/api/host_api.h"
#include "host/base/error.h"
#include "host/base/phase_clock.h"
#include "host/lua/lua.h"
#include "host/lua/thread_state.h"
#include "host/pages/progress_board.h"

namespace rtrain::worker {

// One method for each state that the page shows.
class Progress {
 public:
  // Maps the board behind the descriptor and marks the rank as alive. Throws Error(kInternal).
  Progress(int fd, int rank);
  // A board of its own, which no process reads: for the train function in the controller's process.
  Progress();
  // On the thread that made it.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // The state whose lines are shown; main thread. Null once it is closed.
  void set_state(lua_State* L) {
    state_ = L;
    lua::set_thread_state(L);
  }
  lua_State* state() const { return state_; }

  // Brackets a call that may wait for something outside this process. May be nested: the outermost
  // is shown.
  void enter(WaitKind kind, const char* operation);
  void leave();
  // What the main thread spends its time on; null on another thread.
  PhaseClock* phases();
  // A collective is about to move data. Throws Error(kUser) when another rank has called another
  // one at this place, which it names with both lines, or will never call it. Waits for ranks that
  // are still saving a checkpoint: the collective's own deadline begins behind that.
  // Gives the collective's number; 0 for one of a group of some ranks.
  uint64_t enter_collective(std::string_view operation, const std::string& tensors,
                            api::CollectiveGroup* group = nullptr);
  // The device waits in the collective of that number, 0 for none; one thread.
  void set_device_wait(uint64_t number);
  // Which ranks have not come to the collective of that number, 0 for this rank's latest, and where
  // they are. Empty: all have; nothing: their pages are not on this board.
  std::optional<std::string> absent_ranks(uint64_t number,
                                          const api::CollectiveGroup* group = nullptr) const;
  // Nothing of this rank counts as a hang for so long.
  void set_busy(std::string_view reason, double seconds);

  // The rank runs this program: it is stopped where the program is.
  void set_program(int pid) { page_.program.store(pid, std::memory_order_release); }

  // The train function has returned. Before anything that another rank may wait for is closed.
  void set_returned() { page_.returned.store(1, std::memory_order_release); }
  // What a rank failed of, as far as its peers' pages say: who has returned too early is not a lost
  // peer, but the user's error.
  Error explain(const Error& error) const;

  uint64_t num_collectives() const { return page_.collectives.load(std::memory_order_relaxed); }
  // The rank continues in another attempt, whose collectives are counted from the first.
  void renew();

  void beat();
  // The agent of this node has not renewed the rank's lease in time: it is stopped, or is cut off
  // from the controller, which continues without this rank.
  bool lease_has_ended() const;
  void count_report() { add(page_.reports, 1); }
  void add_bytes(uint64_t count) { add(page_.bytes, count); }
  // By all ranks of the board.
  uint64_t copied_bytes() const { return board_.copied_bytes(); }
  // The main thread waits for its checkpoint; it has ended.
  void begin_saving() { page_.saving.set(); }
  void end_saving() { page_.saving.clear(); }
  // Of the main thread's Lua stack; main thread.
  int frames(std::array<pages::PageFrame, pages::kPageFrames>& out) const;

  pages::ProgressPage& page() { return page_; }

  // Fills in the functions that show what the engine does; they do nothing outside of a worker. The
  // counters only in a worker process: they have to outlive the engine.
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
  PhaseClock phases_;
  mutable std::mutex collectives_;
  std::optional<api::CollectiveGroup>
      last_group_;  // of this rank's last collective; nothing: of all
};

// Shows for its lifetime that this worker waits in `operation`.
class WaitScope {
 public:
  WaitScope(Progress& progress, WaitKind kind, const char* operation)
      : progress_(progress), phases_(needs_peers(kind) ? progress.phases() : nullptr) {
    progress_.enter(kind, operation);
    if (phases_ != nullptr) depth_ = phases_->enter(TrainPhase::kCommunication);
  }
  ~WaitScope() {
    if (phases_ != nullptr) phases_->leave(depth_);
    progress_.leave();
  }
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;

 private:
  Progress& progress_;
  PhaseClock* phases_;
  int depth_ = 0;
};

// Shows for its lifetime that the main thread waits for a checkpoint.
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
