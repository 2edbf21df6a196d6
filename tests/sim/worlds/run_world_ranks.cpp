// What the processes of the group do, and how they end.
#include "tests/sim/worlds/run_world.h"

#include <algorithm>
#include <array>

#include "host/base/text/text.h"

namespace rtrain::sim {

void RunWorld::add_ranks(std::vector<Choice>& out) {
  for (int rank = 0; rank < static_cast<int>(processes_.size()); ++rank) {
    if (process(rank).is_alive) add_rank(out, rank);
  }
}

void RunWorld::add_rank(std::vector<Choice>& out, int rank) {
  const Process& it = process(rank);
  if (it.is_killed || (it.is_told_exit && !it.is_stuck) || it.is_dying || it.has_raised) {
    out.push_back({5, [this, rank] { end_process(rank, "its process has ended", true); }});
  }
  if (it.is_killed || it.is_dying || it.has_raised) return;
  if (it.phase == decide::Phase::kSpawn || (it.is_started && it.phase < decide::Phase::kRunning)) {
    out.push_back({6, [this, rank] {
                     Process& process = this->process(rank);
                     process.phase =
                         static_cast<decide::Phase>(static_cast<int>(process.phase) + 1);
                     feed(decide::event::PhaseReached{rank, process.phase});
                   }});
  }
  if (it.phase == decide::Phase::kRunning && !it.has_returned) add_train_function(out, rank);
  if (is_calm_) return;
  const int weight = decide::is_regrouping(machine_.stage) ? 4 : 1;  // losses come together
  if (faults_.die) {
    out.push_back({weight, [this, rank] {
                     process(rank).is_dying = true;
                     feed(decide::event::Dying{rank, now_s_});
                   }});
    out.push_back({weight, [this, rank] { end_process(rank, "killed", true); }});
  }
  if (faults_.lose_host) out.push_back({weight, [this, rank] { lose_host(rank); }});
  if (!faults_.spawn || it.phase != decide::Phase::kSpawn) return;
  out.push_back({1, [this, rank] {
                   process(rank).is_alive = false;
                   const Error error(Code::kEnvironment, "cannot start");
                   feed(decide::event::SpawnFailed{error, rank, rank + 1, draws_.chance(0.5)});
                 }});
}

void RunWorld::add_train_function(std::vector<Choice>& out, int rank) {
  const Process& it = process(rank);
  // A rank may notice the loss of another rank before the machine does.
  const bool grows = is_asked_to_grow_ && rank == 0 && it.is_healable;
  const bool is_behind_first = is_asked_to_grow_ && it.is_healable && process(0).is_unwound;
  const bool sees_loss = (it.is_healable && num_lost() > 0) || grows || is_behind_first;
  if ((it.is_told_lost || sees_loss) && !it.is_unwound) {
    out.push_back({it.is_told_lost ? 6 : 1, [this, rank] {
                     Process& process = this->process(rank);
                     process.is_unwound = true;
                     process.is_healable = false;
                     process.may_have_error = true;
                     process.unwound_s = now_s_;
                     const bool is_other = !is_calm_ && faults_.disagree && draws_.chance(0.1);
                     process.unwound_step = 5 + last_attempt_ + (is_other ? 1 : 0);
                     const decide::Unwinding back{.step = *process.unwound_step,
                                                  .index = 3 + last_attempt_,
                                                  .error = Error(Code::kPeerLost, "a peer is lost"),
                                                  .time_s = now_s_};
                     feed(decide::event::Unwound{rank, back});
                   }});
  }
  // Alternatively the rank leaves train.elastic when it hears of the loss, or has just returned.
  if (it.is_told_lost && it.is_healable && !it.is_unwound && faults_.leave_elastic && !is_calm_) {
    out.push_back({1, [this, rank] {
                     process(rank).is_told_lost = process(rank).is_healable = false;
                     feed(decide::event::Healable{rank, false});
                   }});
    out.push_back({1, [this, rank] {
                     process(rank).has_returned = true;
                     feed(decide::event::Returned{rank});
                   }});
  }
  if (!it.is_told_lost && !it.is_unwound) {
    if (is_ending_ || draws_.chance(0.02)) {
      out.push_back({4, [this, rank] {
                       process(rank).has_returned = true;
                       feed(decide::event::Returned{rank});
                     }});
    }
    if (is_elastic_script_ && (!it.is_healable || (faults_.leave_elastic && !is_calm_))) {
      out.push_back({it.is_healable ? 1 : 5, [this, rank] {
                       Process& process = this->process(rank);
                       process.is_healable = !process.is_healable;
                       feed(decide::event::Healable{rank, process.is_healable});
                     }});
    }
  }
  if (is_calm_ || !faults_.raise) return;
  out.push_back({1, [this, rank] {
                   process(rank).has_raised = true;
                   feed(decide::event::Failed{rank, error_of_user(), now_s_});
                 }});
}

Error RunWorld::error_of_user() {
  constexpr std::array kCodes = {Code::kUser, Code::kPeerLost, Code::kConfig, Code::kOutOfMemory};
  const Code code = kCodes.at(static_cast<size_t>(draws_.below(kCodes.size())));
  return Error(code, cat("error ", draws_.below(3)));
}

void RunWorld::lose_host(int rank) {
  process(rank).can_move = !machine_.scaling.is_elastic() && draws_.chance(0.8);
  end_process(rank, "its node is lost", false);
}

void RunWorld::end_process(int rank, const char* why, bool has_host) {
  Process& it = process(rank);
  it.is_alive = false;
  it.has_host = has_host;
  const bool is_by_us = it.is_killed || it.is_told_exit;
  if (!is_by_us || it.is_dying) {
    note_error(rank, now_s_);
    it.has_died = !it.has_raised;
  }
  const bool can_move = has_host || it.can_move || machine_.scaling.is_elastic();
  feed(decide::event::Gone{rank, Error(Code::kWorkerLost, why), now_s_, has_host, can_move});
}

int RunWorld::num_alive() const {
  return static_cast<int>(
      std::ranges::count_if(processes_, [](const Process& it) { return it.is_alive; }));
}

int RunWorld::num_lost() const {
  return static_cast<int>(std::ranges::count_if(
      processes_, [](const Process& it) { return !it.is_alive || it.is_dying; }));
}

}  // namespace rtrain::sim
