// How a healthy group gets another size: at its next checkpoint, or larger at a commit of
// train.elastic; and how its processes share the virtual ranks in another way, also at a commit.
#include "host/base/text/text.h"
#include "host/decide/run/transition.h"

namespace rtrain::decide {

void Transition::on(const event::ResourcesSeen& e) {
  if (e.attempt != m_.attempt || !is<stage::Running>() || m_.stop || is_failing()) return;
  const std::optional<int> wanted = m_.scaling.resize(m_.num_workers, e.capacity);
  if (!wanted || m_.group.is_healed || any_returned(m_.group.ranks)) {
    return add(action::SetResizeTimer{m_.scaling.resize_interval_s()});
  }
  const bool is_larger = *wanted > m_.num_workers;
  const bool at_commit =
      is_larger && m_.group.can_replace && m_.group.can_shrink && m_.heal_limits.can_carry;
  add(action::TellResize{m_.num_workers, *wanted, at_commit});
  if (!at_commit) return ask_to_stop({.kind = StopKind::kResize, .resize_to = *wanted});
  m_.stage = stage::Growing{*wanted};
  add(action::AskToGrow{});
}

void Transition::on(const event::Unbalanced&) {
  if (!is<stage::Running>() || m_.stop || is_failing() || any_returned(m_.group.ranks)) return;
  if (!m_.group.can_replace || m_.group.is_healed) return;
  m_.stage = stage::Growing{m_.num_workers};
  add(action::AskToGrow{.is_in_place = true});
}

void Transition::set_resize_timer() {
  if (m_.scaling.is_elastic()) add(action::SetResizeTimer{m_.scaling.resize_interval_s()});
}

// Ends a growth that has not begun: a rank has left train.elastic or has returned.
void Transition::stop_growing() {
  if (!is<stage::Growing>()) return;
  m_.stage = stage::Running{};
  add(action::AskToGrow{false});
  set_resize_timer();
}

// The first rank has gone back to its commit. The others are to go back to the same one.
void Transition::gather(int rank) {
  m_.stage = stage::Gathering{as<stage::Growing>()->to};
  add(action::SetDeadline{m_.heal_limits.unwind_timeout_s});
  add(action::Unwind{rank});
}

// All ranks have gone back. The state that all ranks have in common is taken from rank 0.
void Transition::begin_larger_group() {
  const RankState& first = m_.group.ranks.front();
  if (!first.unwound || first.unwound->step == 0) {
    return fail_growth("rank 0 has no commit to go on from");
  }
  m_.carried = first.unwound->index;
  // A stop that was requested meanwhile comes first.
  if (!m_.stop) {
    m_.stop = StopProgress{
        .kind = StopKind::kResize, .seen = true, .resize_to = as<stage::Gathering>()->to};
  }
  kill();
}

// All ranks have gone back, and stay: the next attempt takes the processes over, as after a loss.
void Transition::go_on_in_place() {
  const Unwinding* step = step_of(m_.group.ranks);
  if (step == nullptr) return fail_growth("not all ranks are at the same commit");
  m_.stage = stage::Recording{.next_index = step->index};
  add(action::ClearDeadline{});
  add(action::EndHealed{
      controller_error(Error(Code::kPeerLost, "the virtual workers are divided in another way")),
      step->index});
}

void Transition::fail_growth(const std::string& reason) {
  const bool is_larger = as<stage::Gathering>()->to > m_.num_workers;
  const char* const what = is_larger ? "the group cannot become larger: "
                                     : "the virtual workers cannot be divided in another way: ";
  fail_start(Error(Code::kTimeout, cat(what, reason)), 0);
}

}  // namespace rtrain::decide
