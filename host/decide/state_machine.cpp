#include "host/decide/state_machine.h"

#include <algorithm>
#include <array>
#include <utility>

#include "host/base/text/text.h"

namespace rtrain {
namespace {

// How long a failed group is left alive so that the other ranks can send their errors.
constexpr double kVerdictS = 0.5;
// Teardown of a worker after its train function has returned.
constexpr double kExitTimeoutS = 5;
// Replacements that follow each other before all ranks hold the state again: then something else is
// wrong.
constexpr int kMaxBarrenHeals = 20;

constexpr std::array kStateNames = {"INITIALIZING", "SCHEDULING", "RESCHEDULING", "RUNNING",
                                    "PREEMPTING",   "RESTARTING", "RESIZING",     "SHUTTING_DOWN",
                                    "ERRORED",      "FINISHED",   "ABORTED",      "PREEMPTED"};

// One step; the overloads of on() are the transitions.
class Transition {
 public:
  explicit Transition(Machine machine) : m_(std::move(machine)) {}

  Step take() { return {std::move(m_), std::move(actions_)}; }

  void on(const event::Started&) { request_resources(); }

  void on(const event::ResourcesGranted& e) {
    if (!m_.requesting || m_.run_ending) return;
    m_.requesting = false;
    schedule(e.num_workers);
  }

  void on(const event::ResourcesRefused& e) {
    if (!m_.requesting || m_.run_ending) return;
    m_.requesting = false;
    end_run(RunState::kErrored, controller_error(e.error));
  }

  void on(const event::AttemptBegun&) {
    if (m_.heal == HealStage::kWriting) return begin_healed();
    if (m_.stop || m_.storage_error) return end_attempt();
    m_.ranks.assign(static_cast<size_t>(m_.num_workers), {});
    add(action::SpawnGroup{m_.attempt, m_.num_workers});
    add(action::SetDeadline{m_.start_timeout_s});
  }

  // Other nodes may have started theirs: those are gone when they say so.
  void on(const event::SpawnFailed& e) {
    for (int rank = e.rank; rank < e.end; ++rank) rank_of(rank).gone = true;
    if (m_.killed) return check_all_gone();
    if (m_.is_healed && go_on_without({{e.rank, e.error}})) return;
    if (m_.failing) return check_verdict();
    m_.transient = e.transient;
    fail_start(e.error, e.rank);
  }

  void on(const event::PhaseReached& e) {
    RankState& rank = rank_of(e.rank);
    if (m_.killed || e.phase <= rank.phase) return;
    rank.phase = e.phase;
    if (e.phase == Phase::kHello) add(action::SendStart{e.rank});
    update_slowest();
  }

  void on(const event::DeadlinePassed& e) {
    if (e.attempt != m_.attempt || m_.killed) return;
    if (m_.heal == HealStage::kUnwinding && m_.is_growing) {
      return fail_growth(cat("the ranks were not back at their last commit within ",
                             m_.heal_limits.unwind_timeout_s, " s"));
    }
    if (m_.heal == HealStage::kUnwinding) return give_up_heal();
    if (is_running()) return;
    if (m_.state == RunState::kShuttingDown) return kill();  // the teardown took too long
    if (m_.is_healed && go_on_without(late_ranks())) return;
    if (m_.failing) return;  // its verdict is due
    fail_late_start();
  }

  void on(const event::Returned& e) {
    RankState& rank = rank_of(e.rank);
    rank.returned = true;
    rank.phase = Phase::kRunning;
    if (m_.killed) return;
    update_slowest();
    if (m_.failing) return check_verdict();
    if (!all_returned(m_.ranks)) return;
    m_.state = RunState::kShuttingDown;
    add(action::SendExit{});
    add(action::SetDeadline{kExitTimeoutS});
  }

  void on(const event::Failed& e) {
    RankState& rank = rank_of(e.rank);
    if (rank.error) return;
    rank.error = e.error;
    rank.error_time_s = e.time_s;
    start_verdict();
  }

  // Waiting for its status would only keep the others from being ended.
  void on(const event::Dying& e) {
    RankState& rank = rank_of(e.rank);
    const bool over = m_.killed || m_.state == RunState::kShuttingDown;
    if (over || rank.is_lost() || rank.returned || rank.error) return;
    rank.dying_s = e.time_s;
    if (!rank.is_superfluous) lose(e.rank);
  }

  void on(const event::Gone& e) {
    RankState& rank = rank_of(e.rank);
    rank.gone = true;
    rank.is_replaceable = rank.is_replaceable && e.has_host;
    // A death that we brought about, or after the train function has returned everywhere, is no
    // failure.
    const bool over = m_.killed || m_.state == RunState::kShuttingDown;
    const bool expected = over && !rank.dying_s;
    if (!expected && !rank.error) {
      rank.error = e.error;
      rank.died = true;
      rank.error_time_s = rank.dying_s.value_or(e.time_s);
      if (!over && !rank.dying_s && !rank.is_superfluous) lose(e.rank);
    }
    check_all_gone();
    check_unwound();
    if (m_.heal == HealStage::kDying) add(action::LookAgain{});
  }

  void on(const event::HealDue& e) {
    if (m_.heal == HealStage::kDying && e.attempt == m_.attempt) heal_group();
  }

  void on(const event::Healable& e) {
    RankState& rank = rank_of(e.rank);
    rank.healable = e.is;
    rank.fixed = e.fixed;
    if (!e.is) leave_elastic();
    // The message of a rank that is lost, or is being ended with the others, comes too late.
    if (m_.heal != HealStage::kNone || m_.killed || !all_healable(m_.ranks)) return;
    m_.can_replace = m_.heal_limits.max_heals != 0;
    m_.can_shrink = m_.scaling.is_elastic() &&
                    std::ranges::all_of(m_.ranks, [](const auto& r) { return r.fixed.empty(); });
    m_.barren_heals = 0;
    for (RankState& each : m_.ranks) each.unwound.reset();
    const bool was_healed = std::exchange(m_.is_healed, false);
    if (was_healed) add(action::ReportHealed{});
    if (std::exchange(m_.carries, false)) add(action::DropCarried{});
    if (was_healed && m_.stop && may_ask()) ask_to_stop(*m_.stop);
  }

  // A rank may learn of a death before it is known here.
  void on(const event::Unwound& e) {
    RankState& rank = rank_of(e.rank);
    rank.unwound = e.unwinding;
    if (m_.killed) return;
    const bool is_growing = m_.is_growing && m_.can_replace && !m_.failing;
    if (m_.heal == HealStage::kNone && !is_growing) return start_verdict();
    if (m_.heal == HealStage::kNone) begin_growth(e.rank);
    check_unwound();
  }

  // Ranks that have gone back to their last commit, and no rank has died: what they say is an
  // error.
  void on(const event::VerdictDue& e) {
    if (e.attempt != m_.attempt || !m_.failing) return;
    if (!m_.awaits_loss && may_be_loss()) {
      m_.awaits_loss = true;
      return add(action::SetVerdictTimer{m_.heal_limits.loss_timeout_s});
    }
    for (RankState& rank : m_.ranks) {
      if (!rank.unwound || rank.error) continue;
      rank.error = rank.unwound->error;
      rank.error_time_s = rank.unwound->time_s;
    }
    kill();
  }

  void on(const event::CheckpointCommitted& e) {
    if (!m_.stop || e.attempt != m_.attempt) return;
    m_.stop->saved = true;
  }

  void on(const event::StopComplete& e) {
    if (m_.stop && e.attempt == m_.attempt && !m_.failing) kill();
  }

  void on(const event::ResourcesSeen& e) {
    if (e.attempt != m_.attempt || m_.state != RunState::kRunning || m_.stop || m_.failing) return;
    if (m_.is_growing) return;
    const std::optional<int> wanted = m_.scaling.resize(m_.num_workers, e.capacity);
    if (!wanted || is_healing()) return add(action::SetResizeTimer{m_.scaling.resize_interval_s()});
    m_.resize_to = *wanted;
    const bool at_commit = *wanted > m_.num_workers && m_.can_replace && m_.can_shrink;
    add(action::ReportResize{m_.num_workers, *wanted, at_commit});
    if (at_commit) {
      m_.is_growing = true;
      return add(action::AskToGrow{});
    }
    ask_to_stop({.kind = StopKind::kResize});
  }

  void on(const event::AttemptEnded& e) {
    if (m_.heal == HealStage::kWriting) return begin_next_of_heal();
    m_.ranks.clear();
    m_.is_healed = false;
    if (m_.storage_error) return end_without_storage();
    if (m_.error) return charge(*m_.error, e);
    if (m_.stop) return finish_stop(e);
    end_run(RunState::kFinished, std::nullopt);
  }

  void on(const event::RetryDue& e) {
    const bool waiting = m_.heal == HealStage::kNone &&
                         (m_.state == RunState::kRestarting || m_.state == RunState::kRescheduling);
    if (waiting && e.attempt == m_.attempt && !m_.requesting && !m_.run_ending) request_resources();
  }

  void on(const event::RunEnded&) {
    m_.state = m_.outcome;
    add(action::Finish{m_.state, m_.error});
  }

  void on(const event::StopRequested& e) {
    if (!accept(e.kind, e.by)) return;
    if (is_healing()) return;  // asked when all ranks are there again
    if (std::exchange(m_.is_growing, false)) add(action::AskToGrow{false});
    if (may_ask()) return ask_to_stop(*m_.stop);
    if (m_.state != RunState::kShuttingDown) stop_at_once();
  }

  // A rank that has failed before, of the same cause, would be charged to another budget.
  void on(const event::NodeUnhealthy& e) {
    if (m_.killed || m_.state == RunState::kShuttingDown) return;
    m_.group_error = GroupError{.cause = e.error, .rank = e.rank, .kind = e.kind, .ranks = {}};
    m_.transient = e.kind == FailureKind::kPreemption;  // another host may be able to
    kill();
  }

  void on(const event::StopSeen&) {
    if (m_.stop) m_.stop->seen = true;
  }

  // A group that only grows has all the time it needs until its next checkpoint.
  void on(const event::GracePassed& e) {
    if (!m_.stop || e.attempt != m_.attempt || m_.killed || m_.failing) return;
    if (m_.stop->kind == StopKind::kResize && m_.resize_to > m_.num_workers) return;
    m_.stop->out_of_time = true;
    kill();
  }

  void on(const event::StopNow& e) {
    if (accept(e.kind, e.by) || (m_.stop && !m_.run_ending)) stop_at_once();
  }

  // Once writing has failed nothing more can be recorded: the run ends, with that error unless it
  // had another one before.
  void on(const event::StorageFailed& e) {
    if (m_.storage_error || is_over()) return;
    m_.storage_error = controller_error(e.error);
    if (m_.run_ending) {
      if (m_.error) return;
      m_.error = m_.storage_error;
      m_.outcome = RunState::kErrored;
      return;
    }
    if (is_between_attempts()) return end_without_storage();
    if (!m_.failing && !m_.error && !m_.group_error) m_.group_error = m_.storage_error;
    if (!m_.ranks.empty()) kill();
  }

 private:
  template <class T>
  void add(T action) {
    actions_.emplace_back(std::move(action));
  }

  RankState& rank_of(int rank) { return m_.ranks.at(static_cast<size_t>(rank)); }

  static GroupError controller_error(const Error& error, int rank = -1) {
    return {.cause = error, .rank = rank, .kind = FailureKind::kController, .ranks = {}};
  }

  bool is_over() const { return m_.state >= RunState::kErrored; }

  bool is_running() const {
    return m_.state == RunState::kRunning || m_.state == RunState::kPreempting;
  }

  // There are ranks that can take notice of a stop.
  bool may_ask() const { return is_running() && !m_.failing; }

  // Until the new group is complete.
  bool is_healing() const { return m_.heal != HealStage::kNone || m_.is_healed; }

  // No process and no row that is being written.
  bool is_between_attempts() const {
    if (m_.heal != HealStage::kNone) return false;
    return m_.state == RunState::kInitializing || m_.state == RunState::kRestarting ||
           m_.state == RunState::kRescheduling || m_.state == RunState::kResizing;
  }

  void request_resources() {
    m_.requesting = true;
    add(action::RequestResources{m_.scaling.min_workers(), m_.scaling.max_workers()});
  }

  void schedule(int num_workers) {
    m_.state = RunState::kScheduling;
    ++m_.attempt;
    m_.num_workers = num_workers;
    m_.slowest = Phase::kSpawn;
    m_.ran = m_.failing = m_.killed = m_.attempt_ending = m_.transient = false;
    m_.can_replace = m_.can_shrink = m_.is_healed = m_.kill_is_due = false;
    m_.awaits_loss = m_.is_growing = false;
    m_.group_error.reset();
    m_.error.reset();
    action::BeginAttempt next{.attempt = m_.attempt, .num_workers = num_workers};
    if (m_.carries) next.first_index = m_.next_index;
    next.carries = m_.carries;
    add(next);
  }

  void update_slowest() {
    const Phase slowest = slowest_phase(m_.ranks);
    if (slowest == m_.slowest) return;
    m_.slowest = slowest;
    if (m_.failing) return;
    if (slowest != Phase::kRunning) return add(action::SetDeadline{m_.start_timeout_s});
    m_.ran = true;
    m_.state = RunState::kRunning;
    add(action::ClearDeadline{});
    if (m_.scaling.is_elastic()) add(action::SetResizeTimer{m_.scaling.resize_interval_s()});
  }

  void fail_late_start() {
    const auto late =
        std::min_element(m_.ranks.begin(), m_.ranks.end(),
                         [](const auto& a, const auto& b) { return a.phase < b.phase; });
    const int rank = static_cast<int>(late - m_.ranks.begin());
    fail_start(lateness(rank), rank);
  }

  Error lateness(int rank) {
    const Phase phase = rank_of(rank).phase;
    const auto next = static_cast<Phase>(static_cast<int>(phase) + 1);
    return Error(Code::kTimeout,
                 cat("rank ", rank, " did not reach '", phase_name(next), "' within ",
                     m_.start_timeout_s, " s: it is still at '", phase_name(phase), "'"));
  }

  std::vector<std::pair<int, Error>> late_ranks() {
    std::vector<std::pair<int, Error>> out;
    for (int rank = 0; rank < static_cast<int>(m_.ranks.size()); ++rank) {
      if (rank_of(rank).phase < Phase::kRunning) out.emplace_back(rank, lateness(rank));
    }
    return out;
  }

  void fail_start(const Error& error, int rank) {
    m_.group_error = controller_error(error, rank);
    kill();
  }

  void start_verdict() {
    if (m_.killed) return;
    if (!m_.failing) {
      m_.failing = true;
      add(action::SetVerdictTimer{kVerdictS});
    }
    check_verdict();
  }

  // A death is a cause by itself: nothing that the other ranks have yet to say would be an earlier
  // one.
  void lose(int rank) {
    check_barren(rank_of(rank));
    if (may_heal()) {
      const bool is_replaced = rank_of(rank).is_replaceable;
      add(action::ReportDeath{rank, is_replaced ? DeathEffect::kReplaced : DeathEffect::kLeftOut});
      return heal(rank);
    }
    m_.failing = true;
    add(action::ReportDeath{rank, DeathEffect::kEnds, why_not_without(rank_of(rank))});
    kill();
  }

  // A smaller group does without a process that is never there for long enough.
  void check_barren(RankState& rank) {
    if (!m_.is_healed || rank.healable || !m_.can_shrink) return;
    if (m_.barren_heals < kMaxBarrenHeals) return;
    rank.is_replaceable = false;
    m_.barren_heals = 0;
  }

  // Why the others do not continue without a rank that cannot be replaced; empty for other ranks.
  std::string why_not_without(const RankState& lost) const {
    if (!m_.can_replace || lost.is_replaceable) return "";
    if (!m_.scaling.is_elastic()) {
      return "its host is gone and num_workers is a fixed number (with a range, {min, max}, the "
             "others would go on)";
    }
    for (const RankState& rank : m_.ranks) {
      if (!rank.fixed.empty()) {
        return cat("its host is gone and a smaller group is not possible: ", rank.fixed);
      }
    }
    if (num_kept(m_.ranks) >= least_workers()) return "";
    return cat("its host is gone and fewer than ", least_workers(),
               " workers, the least of num_workers, are left");
  }

  int least_workers() const {
    return m_.can_shrink ? m_.scaling.min_workers() : static_cast<int>(m_.ranks.size());
  }

  bool can_heal() const { return rtrain::can_heal(m_.ranks, least_workers()); }

  // Ranks of a heal whose place no worker can take, and why. False where the group cannot do
  // without them.
  bool go_on_without(const std::vector<std::pair<int, Error>>& ranks) {
    for (const auto& [rank, error] : ranks) rank_of(rank).is_replaceable = false;
    if (ranks.empty() || !may_heal()) {
      for (const auto& [rank, error] : ranks) rank_of(rank).is_replaceable = true;
      return false;
    }
    for (const auto& [rank, error] : ranks) {
      rank_of(rank).error = error;
      rank_of(rank).died = true;
      add(action::ReportLeftOut{rank, error});
    }
    heal(ranks.front().first);
    check_unwound();
    return true;
  }

  // Ranks of a host that is gone say nothing; the others have gone back because of them.
  bool may_be_loss() const {
    const auto is_silent = [](const RankState& r) {
      return !r.unwound && !r.error && !r.returned && !r.is_lost();
    };
    return m_.heal_limits.loss_timeout_s > 0 && may_heal() &&
           std::ranges::any_of(m_.ranks, is_silent);
  }

  // A run that is being stopped takes its last checkpoint with it.
  bool may_heal() const {
    const HealLimits& limits = m_.heal_limits;
    const bool is_left = limits.max_heals < 0 || m_.num_heals < limits.max_heals || is_healing();
    const bool is_stopping = m_.stop && !is_healing();
    return m_.can_replace && is_left && !is_stopping && !m_.storage_error && !m_.kill_is_due &&
           m_.barren_heals < kMaxBarrenHeals && can_heal();
  }

  // One heal for all that are lost until the rest is back at the last commit. A replacement that
  // has not got the state yet has nothing to go back to.
  void heal(int lost) {
    m_.failing = m_.awaits_loss = false;
    const bool was_growing = std::exchange(m_.is_growing, false);
    if (m_.heal == HealStage::kNone || was_growing) {
      m_.heal = HealStage::kUnwinding;
      ++m_.num_heals;
      ++m_.barren_heals;
      add(action::SetDeadline{m_.heal_limits.unwind_timeout_s});
    }
    if (m_.heal == HealStage::kUnwinding) add(action::TellLost{lost});
    for (size_t i = 0; i < m_.ranks.size(); ++i) {
      RankState& rank = m_.ranks[i];
      if (rank.is_lost() || rank.healable || rank.is_superfluous) continue;
      rank.is_superfluous = true;
      add(action::KillRank{static_cast<int>(i)});
    }
  }

  void check_unwound() {
    if (m_.heal != HealStage::kUnwinding) return;
    const auto is_awaited = [](const RankState& r) {
      return !r.gone && (!r.unwound || r.dying_s || r.is_superfluous);
    };
    if (std::any_of(m_.ranks.begin(), m_.ranks.end(), is_awaited)) return;
    if (m_.is_growing) return end_to_grow();
    if (step_of(m_.ranks) == nullptr || !can_heal()) return give_up_heal();
    m_.heal = HealStage::kWriting;
    m_.state = RunState::kRestarting;
    add(action::ClearDeadline{});
    m_.next_index = step_of(m_.ranks)->index;
    add(action::EndHealed{first_cause(m_.ranks), m_.next_index});
  }

  // There is no further commit to grow at.
  void leave_elastic() {
    m_.can_replace = false;
    if (m_.heal != HealStage::kNone || !std::exchange(m_.is_growing, false)) return;
    add(action::AskToGrow{false});
    add(action::SetResizeTimer{m_.scaling.resize_interval_s()});
  }

  // The first rank has gone back to its commit; the others come to no further one.
  void begin_growth(int rank) {
    m_.heal = HealStage::kUnwinding;
    add(action::SetDeadline{m_.heal_limits.unwind_timeout_s});
    add(action::TellLost{rank});
  }

  // All have. The large value is the first rank's.
  void end_to_grow() {
    const RankState& first = m_.ranks.front();
    if (!first.unwound || first.unwound->step == 0) {
      return fail_growth("rank 0 has no commit to go on from");
    }
    m_.is_growing = false;
    m_.carries = true;
    m_.next_index = first.unwound->index;
    // Whoever has asked for a stop meanwhile gets it.
    if (!m_.stop) m_.stop = StopProgress{.kind = StopKind::kResize, .seen = true, .saved = true};
    kill();
  }

  void fail_growth(const std::string& reason) {
    m_.is_growing = false;
    m_.heal = HealStage::kNone;
    fail_start(Error(Code::kTimeout, cat("the group cannot become larger: ", reason)), 0);
  }

  // As if no rank could be replaced.
  void give_up_heal() {
    m_.heal = HealStage::kNone;
    m_.failing = true;
    kill();
  }

  void begin_next_of_heal() {
    ++m_.attempt;
    m_.state = RunState::kScheduling;
    if (can_heal()) m_.num_workers = num_kept(m_.ranks);  // else begin_healed() gives up
    add(action::BeginAttempt{m_.attempt, m_.num_workers, m_.next_index});
  }

  void begin_healed() {
    if (m_.kill_is_due || m_.storage_error) return give_up_heal();
    m_.heal = HealStage::kDying;
    heal_group();
  }

  // A host that is lost behind the row is one worker less than this says.
  void heal_group() {
    if (!can_heal() || num_kept(m_.ranks) != m_.num_workers) return give_up_heal();
    const auto is_dying = [](const RankState& r) { return r.is_lost() && !r.gone; };
    if (std::any_of(m_.ranks.begin(), m_.ranks.end(), is_dying)) return;
    action::HealGroup next{m_.attempt, {}, {}};
    std::vector<RankState> ranks;
    for (size_t i = 0; i < m_.ranks.size(); ++i) {
      if (!m_.ranks[i].is_replaceable) continue;
      next.kept.push_back(static_cast<int>(i));
      if (m_.ranks[i].gone) next.lost.push_back(static_cast<int>(ranks.size()));
      ranks.push_back(m_.ranks[i].gone ? RankState{} : surviving(m_.ranks[i]));
    }
    m_.ranks = std::move(ranks);
    m_.heal = HealStage::kNone;
    m_.is_healed = true;
    m_.slowest = Phase::kSpawn;
    add(std::move(next));
    add(action::SetDeadline{m_.start_timeout_s});
    update_slowest();
  }

  static RankState surviving(const RankState& before) {
    RankState out;
    out.phase = Phase::kRunning;
    out.healable = true;
    out.fixed = before.fixed;
    return out;
  }

  void check_verdict() {
    if (all_accounted_for(m_.ranks)) kill();
  }

  void kill() {
    if (m_.killed || m_.attempt_ending) return;
    if (m_.heal == HealStage::kWriting) {
      m_.kill_is_due = true;
      return;
    }
    m_.heal = HealStage::kNone;
    m_.is_growing = false;
    m_.killed = true;
    m_.state = RunState::kShuttingDown;
    add(action::ClearDeadline{});
    add(action::KillGroup{});
    check_all_gone();
  }

  void check_all_gone() {
    if (all_gone(m_.ranks) && m_.state == RunState::kShuttingDown) end_attempt();
  }

  void end_attempt() {
    if (m_.attempt_ending) return;
    m_.attempt_ending = true;
    m_.state = RunState::kShuttingDown;
    add(action::ClearDeadline{});
    if (m_.group_error) {
      m_.error = m_.group_error;
      m_.error->ranks = first_cause(m_.ranks).ranks;
    } else if (m_.failing && !was_taken()) {
      m_.error = first_cause(m_.ranks);
    } else if (m_.stop && all_returned(m_.ranks) && !m_.stop->seen) {
      m_.stop.reset();  // no rank saw it: the train function is done
    }
    add(attempt_outcome());
  }

  // A rank that is lost while the run is being stopped from outside went by the same cause.
  bool was_taken() const { return m_.stop && is_from_outside(m_.stop->kind) && any_died(m_.ranks); }

  action::EndAttempt attempt_outcome() const {
    if (m_.error) return {RunState::kErrored, m_.error};
    if (!m_.stop || !is_from_outside(m_.stop->kind)) return {RunState::kFinished, std::nullopt};
    return {RunState::kAborted, GroupError{.cause = stop_error(*m_.stop)}};
  }

  // A failed attempt: another one where its budget allows and no one outside wants the run stopped.
  void charge(const GroupError& error, const event::AttemptEnded& end) {
    const FailureDecision decision =
        m_.policy.decide({error.cause, end.new_checkpoint, error.kind, m_.transient, end.ran_s});
    if (decision.retry && m_.stop && is_from_outside(m_.stop->kind)) {
      add(action::ReportFailure{error, {.reason = "the run is being stopped"}});
      return finish_stop(end);
    }
    add(action::ReportFailure{error, decision});
    if (!decision.retry) return end_run(RunState::kErrored, error);
    m_.stop.reset();
    m_.state = m_.ran ? RunState::kRestarting : RunState::kRescheduling;
    add(action::SetRetryTimer{decision.delay_s});
  }

  bool accept(StopKind kind, const std::string& by) {
    if (m_.run_ending || is_over()) return false;
    const bool returning = m_.stop && m_.stop->seen;
    if (all_returned(m_.ranks) && !m_.failing && !returning) return false;
    if (m_.stop && !is_stronger(kind, m_.stop->kind)) return false;
    if (!m_.stop) m_.stop.emplace();
    m_.stop->kind = kind;
    m_.stop->by = by;
    return true;
  }

  void ask_to_stop(const StopProgress& stop) {
    m_.stop = stop;
    if (stop.kind == StopKind::kTerminate) m_.state = RunState::kPreempting;
    add(action::AskToStop{stop.kind});
  }

  // Where a row is being written, the stop waits for that.
  void stop_at_once() {
    if (is_between_attempts()) return finish_stop({.new_checkpoint = false});
    if (!m_.ranks.empty()) kill();
  }

  void finish_stop(const event::AttemptEnded& end) {
    const StopProgress stop = *m_.stop;
    switch (stop.kind) {
      case StopKind::kResize:
        return finish_resize(stop, end);
      case StopKind::kPredicate:
        return end_run(RunState::kFinished, std::nullopt);
      case StopKind::kTerminate:
        return finish_preemption(stop, end);
      default:
        return end_run(RunState::kAborted, GroupError{.cause = stop_error(stop)});
    }
  }

  // A group whose cores were wanted back before it could save was preempted.
  void finish_resize(const StopProgress& stop, const event::AttemptEnded& end) {
    m_.stop.reset();
    if (stop.out_of_time && !stop.saved) {
      return charge(resize_error(m_.num_workers, m_.resize_to), end);
    }
    m_.state = RunState::kResizing;
    request_resources();
  }

  void finish_preemption(const StopProgress& stop, const event::AttemptEnded& end) {
    const GroupError error =
        preemption_error(stop, m_.policy.decide({stop_error(stop), end.new_checkpoint,
                                                 FailureKind::kPreemption, true, end.ran_s}));
    const bool saved = error.cause.code() == Code::kPreempted;
    end_run(saved ? RunState::kPreempted : RunState::kAborted, error);
  }

  void end_without_storage() {
    end_run(RunState::kErrored, m_.error ? m_.error : m_.storage_error);
  }

  void end_run(RunState outcome, std::optional<GroupError> error) {
    m_.run_ending = true;
    m_.requesting = false;
    m_.state = RunState::kShuttingDown;
    m_.outcome = outcome;
    m_.error = std::move(error);
    add(action::EndRun{outcome, m_.error});
  }

  Machine m_;
  std::vector<Action> actions_;
};

// The invariants between any two events.
void check(const Machine& m) {
  const bool is_running = m.state == RunState::kRunning || m.state == RunState::kPreempting;
  const bool is_over = m.state >= RunState::kErrored;
  RT_CHECK(m.num_workers <= m.scaling.max_workers());
  RT_CHECK(m.ranks.empty() || static_cast<int>(m.ranks.size()) >= m.num_workers);
  RT_CHECK(!m.requesting || (m.ranks.empty() && !m.run_ending));
  RT_CHECK(!is_running || (m.ran && slowest_phase(m.ranks) == Phase::kRunning));
  RT_CHECK(!is_over || (m.run_ending && m.ranks.empty()));
  RT_CHECK(m.heal == HealStage::kNone || (!m.killed && !m.ranks.empty()));
  RT_CHECK(!m.is_growing || (m.scaling.is_elastic() && !m.killed));
  RT_CHECK(!m.kill_is_due || m.heal == HealStage::kWriting || m.killed);
  RT_CHECK(!m.attempt_ending || all_gone(m.ranks));
  RT_CHECK(!m.killed || m.state == RunState::kShuttingDown || m.ranks.empty());
  RT_CHECK(!m.stop || m.stop->kind != StopKind::kResize || m.scaling.is_elastic());
}

// An event of a rank whose attempt is over.
template <class E>
bool is_late(const Machine& machine, const E& event) {
  if constexpr (requires { event.rank; }) {
    return machine.attempt_ending || static_cast<size_t>(event.rank) >= machine.ranks.size();
  }
  return false;
}

}  // namespace

std::string_view state_name(RunState state) { return kStateNames.at(static_cast<size_t>(state)); }

Step step(Machine machine, const Event& event) {
  if (std::visit([&](const auto& e) { return is_late(machine, e); }, event)) {
    return {std::move(machine), {}};
  }
  check(machine);
  Transition transition(std::move(machine));
  std::visit([&](const auto& e) { transition.on(e); }, event);
  Step next = transition.take();
  check(next.machine);
  return next;
}

}  // namespace rtrain
