// host/base/phase_clock.h: measures the time of a rank's main thread by phase: data, forward,
// backward, optimizer, communication, checkpoints.
//
// Belongs to one thread. Phases are nested; time counts for the innermost one. A forward is not
// marked: it is the time between the loading of the batch (or the previous step, or a report) and
// backward(), including the loss and the batch's transfer. Such time without a following
// backward(), for example a validation, counts as other. A change of phase reads the processor's
// time stamp counter once.
//
// Its counts may lie in memory that other processes of this machine read at any time
// (read_phases). All processors of a machine have the same time stamp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "host/base/clock.h"

namespace rtrain {

enum class TrainPhase : uint8_t {
  kOther,
  kData,
  kForward,
  kBackward,
  kOptimizer,
  kCommunication,
  kCheckpoint,  // train.tempdir, torch.save and report()
};

inline constexpr size_t kNumPhases = 7;

// The counts of a clock, which one thread writes: plain stores, of which a reader may see some
// before others.
struct PhaseCounts {
  std::array<std::atomic<uint64_t>, kNumPhases> ticks{};
  std::atomic<uint64_t> steps{0};  // of optimizers
  std::atomic<uint64_t> begun{0};  // ticks at the start; 0: not started
  std::atomic<double> begun_s{0};
  std::atomic<uint64_t> since{0};  // start of the current phase
  std::atomic<TrainPhase> current{TrainPhase::kOther};
};

struct TimeStampCounter {
  static uint64_t ticks() { return __builtin_ia32_rdtsc(); }
  static double seconds() { return monotonic_s(); }
};

// `Time` reads that counter, or the counter of a test.
template <class Time>
class BasicPhaseClock {
 public:
  static constexpr size_t kPhases = kNumPhases;
  static constexpr std::array<const char*, kPhases> kNames = {
      "other", "data", "forward", "backward", "optimizer", "communication", "checkpoint"};

  // `counts`: where it counts; null: in the clock itself. They must outlive it.
  explicit BasicPhaseClock(PhaseCounts* counts = nullptr)
      : counts_(counts == nullptr ? own_ : *counts) {
    start();
  }
  BasicPhaseClock(const BasicPhaseClock&) = delete;
  BasicPhaseClock& operator=(const BasicPhaseClock&) = delete;

  // Starts counting, in kOther.
  void start() {
    for (auto& ticks : counts_.ticks) set(ticks, 0);
    depth_ = 0;
    set(counts_.steps, 0);
    const uint64_t time = now();
    set(counts_.since, time);
    counts_.begun_s.store(Time::seconds(), std::memory_order_relaxed);
    set(counts_.begun, time);
    pending_ = mark_ = 0;
    show();
  }

  // Enters and leaves a phase. enter() returns the depth for leave(), which also closes phases
  // inside that an error has left open.
  int enter(TrainPhase phase) {
    // Nothing is trained during a checkpoint, so an error must have left that phase open.
    if (phase == TrainPhase::kBackward && current() == TrainPhase::kCheckpoint) leave(0);
    switch_at(now());
    if (phase == TrainPhase::kBackward && current() == TrainPhase::kOther) credit_forward();
    const int before = depth_++;
    if (depth_ < kDepth) stack_[static_cast<size_t>(depth_)] = phase;
    show();
    return before;
  }
  // As enter(), for code that an error may leave without leave(): an open phase of the same kind is
  // left over from such an error, and is closed first. A checkpoint may be inside.
  int enter_again(TrainPhase phase) {
    if (current() != phase) return enter(phase);
    return phase == TrainPhase::kCheckpoint ? depth_ : depth_ - 1;
  }

  void leave(int depth) {
    if (depth >= depth_ || depth < 0) return;
    const TrainPhase phase = current();
    switch_at(now());
    if (phase == TrainPhase::kBackward && mark_ != 0) credit_communication();
    if (phase == TrainPhase::kOptimizer) add(counts_.steps, 1);
    if (phase != TrainPhase::kCommunication) pending_ = mark_ = 0;
    depth_ = depth;
    show();
  }

  // Marks a collective started during backward, whose end backward waits for: the time of the
  // backward after the last mark counts as communication.
  void mark_collective() {
    if (current() == TrainPhase::kBackward) mark_ = now();
  }

  // Seconds of each phase, in the order of kNames.
  std::array<double, kNumPhases> seconds() {
    switch_at(now());
    const uint64_t all = get(counts_.since) - get(counts_.begun);
    const double all_s = Time::seconds() - counts_.begun_s.load(std::memory_order_relaxed);
    std::array<double, kNumPhases> out{};
    for (size_t i = 0; i < kNumPhases && all > 0; ++i) {
      out[i] = all_s * static_cast<double>(get(counts_.ticks[i])) / static_cast<double>(all);
    }
    return out;
  }
  // Number of optimizer steps.
  int64_t steps() const { return static_cast<int64_t>(get(counts_.steps)); }

 private:
  static constexpr int kDepth = 16;

  static uint64_t now() { return Time::ticks(); }
  static uint64_t get(const std::atomic<uint64_t>& count) {
    return count.load(std::memory_order_relaxed);
  }
  static void set(std::atomic<uint64_t>& count, uint64_t value) {
    count.store(value, std::memory_order_relaxed);
  }
  static void add(std::atomic<uint64_t>& count, uint64_t value) { set(count, get(count) + value); }
  void show() { counts_.current.store(current(), std::memory_order_relaxed); }

  TrainPhase current() const {
    return depth_ == 0        ? TrainPhase::kOther
           : depth_ >= kDepth ? stack_[kDepth - 1]
                              : stack_[static_cast<size_t>(depth_)];
  }
  std::atomic<uint64_t>& ticks_of(TrainPhase phase) {
    return counts_.ticks[static_cast<size_t>(phase)];
  }
  void switch_at(uint64_t time) {
    // Counters of different processors may differ slightly.
    const uint64_t since = get(counts_.since);
    const uint64_t spent = time > since ? time - since : 0;
    add(ticks_of(current()), spent);
    if (depth_ == 0) pending_ += spent;
    set(counts_.since, since + spent);
  }
  void move(TrainPhase from, TrainPhase to, uint64_t spent) {
    set(ticks_of(from), get(ticks_of(from)) - spent);
    add(ticks_of(to), spent);
  }
  void credit_forward() {
    move(TrainPhase::kOther, TrainPhase::kForward, pending_);
    pending_ = 0;
  }
  void credit_communication() {
    const uint64_t since = get(counts_.since);
    move(TrainPhase::kBackward, TrainPhase::kCommunication, since > mark_ ? since - mark_ : 0);
  }

  PhaseCounts own_;  // where no others are given
  PhaseCounts& counts_;
  std::array<TrainPhase, kDepth> stack_{};  // from index 1; beyond its end, the last one counts
  int depth_ = 0;
  uint64_t pending_ = 0;  // kOther time since the last phase: a forward if backward follows
  uint64_t mark_ = 0;     // 0: none
};

using PhaseClock = BasicPhaseClock<TimeStampCounter>;

// Seconds of each phase so far, the current one included, in the order of PhaseClock::kNames. For
// another thread or process than the clock's. `ticks`, `seconds`: of its `Time`, now.
inline std::array<double, kNumPhases> read_phases(const PhaseCounts& counts, uint64_t ticks,
                                                  double seconds) {
  std::array<double, kNumPhases> out{};
  const uint64_t begun = counts.begun.load(std::memory_order_relaxed);
  if (begun == 0 || ticks <= begun) return out;
  const double passed_s = seconds - counts.begun_s.load(std::memory_order_relaxed);
  const double tick_s = passed_s / static_cast<double>(ticks - begun);
  for (size_t i = 0; i < kNumPhases; ++i) {
    out[i] = tick_s * static_cast<double>(counts.ticks[i].load(std::memory_order_relaxed));
  }
  const auto current = static_cast<size_t>(counts.current.load(std::memory_order_relaxed));
  const uint64_t since = counts.since.load(std::memory_order_relaxed);
  if (current < kNumPhases && ticks > since)
    out[current] += tick_s * static_cast<double>(ticks - since);
  return out;
}

}  // namespace rtrain
