// host/base/phase_clock.h: what a rank's main thread spends its time on: data, forward, backward,
// the optimizer, communication, checkpoints.
//
// Belongs to one thread. Phases are nested: time counts for the innermost one. Nothing marks a
// forward: it is what lies between the end of the batch's loading (or of the step before, or of a
// report) and backward(), with the loss and the transfer of the batch. What is followed by no
// backward(), such as a validation, counts as other. A change of the phase costs one reading of the
// processor's time stamp counter.
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

// `Time`: that counter, or a test's.
template <class Time>
class BasicPhaseClock {
 public:
  static constexpr size_t kPhases = 7;
  static constexpr std::array<const char*, kPhases> kNames = {
      "other", "data", "forward", "backward", "optimizer", "communication", "checkpoint"};

  BasicPhaseClock() { start(); }

  // Counts from now on, in kOther.
  void start() {
    ticks_ = {};
    depth_ = 0;
    steps_ = 0;
    begun_ = since_ = now();
    begun_s_ = Time::seconds();
    pending_ = mark_ = 0;
  }

  // Brackets a phase. Gives the depth that leave() goes back to: what an error has left open within
  // it is closed with it.
  int enter(TrainPhase phase) {
    // Nothing is trained while a checkpoint is made: an error has left that one open.
    if (phase == TrainPhase::kBackward && current() == TrainPhase::kCheckpoint) leave(0);
    switch_at(now());
    if (phase == TrainPhase::kBackward && current() == TrainPhase::kOther) credit_forward();
    const int before = depth_++;
    if (depth_ < kDepth) stack_[static_cast<size_t>(depth_)] = phase;
    return before;
  }
  // The same for code that an error may leave without leave(): a phase of this kind that is open
  // was left so, and ends with this one. A checkpoint may be within one.
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

  // Within a backward a collective was begun whose end backward waits for: what is left of the
  // backward behind the last of them is that wait.
  void mark_collective() {
    if (current() == TrainPhase::kBackward) mark_ = now();
  }

  // Of all phases, in the order of kNames.
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
  // Of optimizers.
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
    // Processors may differ by a little.
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
  std::array<TrainPhase, kDepth> stack_{};  // from 1 on; above its end the last one counts
  int depth_ = 0;
  int64_t steps_ = 0;
  uint64_t begun_ = 0;
  uint64_t since_ = 0;    // of the phase at hand
  uint64_t pending_ = 0;  // of kOther, since the last phase: a forward where a backward follows
  uint64_t mark_ = 0;     // 0: none
  double begun_s_ = 0;
};

using PhaseClock = BasicPhaseClock<TimeStampCounter>;

}  // namespace rtrain
