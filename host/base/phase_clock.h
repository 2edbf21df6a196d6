// host/base/phase_clock.h: measures the time of a rank's main thread by phase: data, forward,
// backward, optimizer, communication, checkpoints.
//
// Belongs to one thread. Phases are nested; time counts for the innermost one. A forward is not
// marked: it is the time between the loading of the batch (or the previous step, or a report) and
// backward(), including the loss and the batch's transfer. Such time without a following
// backward(), for example a validation, counts as other. A change of phase reads the processor's
// time stamp counter once.
#pragma once

#include <array>
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

struct TimeStampCounter {
  static uint64_t ticks() { return __builtin_ia32_rdtsc(); }
  static double seconds() { return monotonic_s(); }
};

// `Time` reads that counter, or the counter of a test.
template <class Time>
class BasicPhaseClock {
 public:
  static constexpr size_t kPhases = 7;
  static constexpr std::array<const char*, kPhases> kNames = {
      "other", "data", "forward", "backward", "optimizer", "communication", "checkpoint"};

  BasicPhaseClock() { start(); }

  // Starts counting, in kOther.
  void start() {
    ticks_ = {};
    depth_ = 0;
    steps_ = 0;
    begun_ = since_ = now();
    begun_s_ = Time::seconds();
    pending_ = mark_ = 0;
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
    if (phase == TrainPhase::kOptimizer) ++steps_;
    if (phase != TrainPhase::kCommunication) pending_ = mark_ = 0;
    depth_ = depth;
  }

  // Marks a collective started during backward, whose end backward waits for: the time of the
  // backward after the last mark counts as communication.
  void mark_collective() {
    if (current() == TrainPhase::kBackward) mark_ = now();
  }

  // Seconds of each phase, in the order of kNames.
  std::array<double, kPhases> seconds() {
    switch_at(now());
    const uint64_t all = since_ - begun_;
    const double all_s = Time::seconds() - begun_s_;
    std::array<double, kPhases> out{};
    for (size_t i = 0; i < kPhases && all > 0; ++i) {
      out[i] = all_s * static_cast<double>(ticks_[i]) / static_cast<double>(all);
    }
    return out;
  }
  // Number of optimizer steps.
  int64_t steps() const { return steps_; }

 private:
  static constexpr int kDepth = 16;

  static uint64_t now() { return Time::ticks(); }

  TrainPhase current() const {
    return depth_ == 0        ? TrainPhase::kOther
           : depth_ >= kDepth ? stack_[kDepth - 1]
                              : stack_[static_cast<size_t>(depth_)];
  }
  uint64_t& ticks_of(TrainPhase phase) { return ticks_[static_cast<size_t>(phase)]; }
  void switch_at(uint64_t time) {
    // Counters of different processors may differ slightly.
    const uint64_t spent = time > since_ ? time - since_ : 0;
    ticks_of(current()) += spent;
    if (depth_ == 0) pending_ += spent;
    since_ += spent;
  }
  void credit_forward() {
    ticks_of(TrainPhase::kOther) -= pending_;
    ticks_of(TrainPhase::kForward) += pending_;
    pending_ = 0;
  }
  void credit_communication() {
    const uint64_t spent = since_ > mark_ ? since_ - mark_ : 0;
    ticks_of(TrainPhase::kBackward) -= spent;
    ticks_of(TrainPhase::kCommunication) += spent;
  }

  std::array<uint64_t, kPhases> ticks_{};
  std::array<TrainPhase, kDepth> stack_{};  // from index 1; beyond its end, the last one counts
  int depth_ = 0;
  int64_t steps_ = 0;
  uint64_t begun_ = 0;
  uint64_t since_ = 0;    // start of the current phase
  uint64_t pending_ = 0;  // kOther time since the last phase: a forward if backward follows
  uint64_t mark_ = 0;     // 0: none
  double begun_s_ = 0;
};

using PhaseClock = BasicPhaseClock<TimeStampCounter>;

}  // namespace rtrain
