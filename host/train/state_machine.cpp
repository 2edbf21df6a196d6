#include "host/train/state_machine.h"

#include <algorithm>
#include <array>
#include <utility>

#include "host/base/text.h"

namespace rtrain {
namespace {

// How long a failed group is left alive so that the other ranks can say what they know.
constexpr double kVerdictS = 0.5;
// A rank that a signal ended is a cause by itself; the rest is for one that died at the same time.
constexpr double kVerdictAfterSignalS = 0.1;
// Teardown of a worker after its train function has returned.
constexpr double kExitTimeoutS = 10;

constexpr std::array kStateNames = {"INITIALIZING", "SCHEDULING", "RESCHEDULING",
                                    "RUNNING",      "RESTARTING", "SHUTTING_DOWN",
                                    "ERRORED",      "FINISHED",   "ABORTED"};
constexpr std::array kPhaseNames = {"spawn", "hello", "engine_loaded", "group_ready", "running"};

bool is_accounted_for(const RankState& rank) {
  return rank.returned || rank.gone || rank.error.has_value();
}

// One step; the overloads of on() are the transitions.
class Transition {
 public:
  explicit Transition(Machine machine) : m_(std::move(machine)) {}

  Step take() { return {std::move(m_), std::move(actions_)}; }

  void on(const event::Started&) { schedule(); }

  void on(const event::AttemptBegun&) {
    if (m_.stop || m_.storage_failed) return end_attempt();
    m_.ranks.assign(static_cast<size_t>(m_.options.num_workers), {});
    add(action::SpawnGroup{m_.attempt});
    add(action::SetDeadline{m_.options.start_timeout_s});
  }

  void on(const event::SpawnFailed& e) {
    for (size_t rank = static_cast<size_t>(e.spawned); rank < m_.ranks.size(); ++rank) {
      m_.ranks[rank].gone = true;
    }
    fail_group(e.error, e.spawned);
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
    if (m_.state == RunState::kShuttingDown) return kill();  // the teardown took too long
    if (m_.state == RunState::kRunning) return;
    fail_start();
  }

  void on(const event::Returned& e) {
    RankState& rank = rank_of(e.rank);
    rank.returned = true;
    rank.phase = Phase::kRunning;
    if (m_.killed) return;
    update_slowest();
    if (m_.failing) return check_verdict();
    if (!all_returned()) return;
    m_.state = RunState::kShuttingDown;
    add(action::SendExit{});
    add(action::SetDeadline{kExitTimeoutS});
  }

  void on(const event::Failed& e) {
    RankState& rank = rank_of(e.rank);
    if (rank.error) return;
    rank.error = e.error;
    rank.error_time_s = e.time_s;
    start_verdict(kVerdictS);
  }

  void on(const event::Gone& e) {
    RankState& rank = rank_of(e.rank);
    rank.gone = true;
    // A death that we brought about, or after the train function has returned everywhere, is no
    // failure.
    const bool expected = m_.killed || m_.state == RunState::kShuttingDown;
    if (!expected && !rank.error) {
      rank.error = e.error;
      rank.error_time_s = e.time_s;
      start_verdict(e.by_signal ? kVerdictAfterSignalS : kVerdictS);
    }
    if (m_.failing) check_verdict();
    check_all_gone();
  }

  void on(const event::VerdictDue& e) {
    if (e.attempt == m_.attempt && m_.failing) kill();
  }

  void on(const event::AttemptEnded& e) {
    m_.ranks.clear();
    if (m_.stop || m_.storage_failed) return end_run();
    if (!m_.error) return end_run();
    const FailureDecision decision = m_.policy.decide({m_.error->cause, e.new_checkpoint});
    add(action::ReportFailure{*m_.error, decision});
    if (!decision.retry) return end_run();
    m_.state = m_.ran ? RunState::kRestarting : RunState::kRescheduling;
    add(action::SetRetryTimer{decision.delay_s});
  }

  void on(const event::RetryDue& e) {
    const bool waiting = m_.state == RunState::kRestarting || m_.state == RunState::kRescheduling;
    if (waiting && e.attempt == m_.attempt && !m_.stop) schedule();
  }

  void on(const event::RunEnded&) {
    m_.state = final_state();
    add(action::Finish{m_.state, m_.error});
  }

  void on(const event::StopRequested& e) {
    if (m_.stop || is_over() || (all_returned() && !m_.failing)) return;
    m_.stop = e.code;
    stop_everything(Error(e.code, e.code == Code::kInterrupted ? "interrupted" : "terminated"));
  }

  // Once writing has failed nothing more can be recorded: the run ends with that error.
  void on(const event::StorageFailed& e) {
    if (m_.storage_failed || is_over()) return;
    m_.storage_failed = true;
    if (m_.run_ending) {
      if (!m_.error) m_.error = GroupError{e.error, -1, {}};
      return;
    }
    stop_everything(e.error);
  }

 private:
  template <class T>
  void add(T action) {
    actions_.emplace_back(std::move(action));
  }

  RankState& rank_of(int rank) { return m_.ranks.at(static_cast<size_t>(rank)); }

  bool is_over() const {
    return m_.state == RunState::kErrored || m_.state == RunState::kFinished ||
           m_.state == RunState::kAborted;
  }

  bool all_returned() const {
    return !m_.ranks.empty() &&
           std::all_of(m_.ranks.begin(), m_.ranks.end(), [](const auto& r) { return r.returned; });
  }

  void schedule() {
    m_.state = RunState::kScheduling;
    ++m_.attempt;
    m_.slowest = Phase::kSpawn;
    m_.ran = m_.failing = m_.killed = m_.attempt_ending = false;
    m_.group_error.reset();
    m_.group_error_rank = -1;
    m_.error.reset();
    add(action::BeginAttempt{m_.attempt});
  }

  void update_slowest() {
    Phase slowest = Phase::kRunning;
    for (const RankState& rank : m_.ranks) slowest = std::min(slowest, rank.phase);
    if (slowest == m_.slowest) return;
    m_.slowest = slowest;
    if (m_.failing) return;
    if (slowest != Phase::kRunning) return add(action::SetDeadline{m_.options.start_timeout_s});
    m_.ran = true;
    m_.state = RunState::kRunning;
    add(action::ClearDeadline{});
  }

  void fail_start() {
    const auto late =
        std::min_element(m_.ranks.begin(), m_.ranks.end(),
                         [](const auto& a, const auto& b) { return a.phase < b.phase; });
    const int rank = static_cast<int>(late - m_.ranks.begin());
    const int next = static_cast<int>(late->phase) + 1;
    fail_group(Error(Code::kTimeout,
                     cat("rank ", rank, " did not reach '", phase_name(static_cast<Phase>(next)),
                         "' within ", m_.options.start_timeout_s, " s: it is still at '",
                         phase_name(late->phase), "'")),
               rank);
  }

  void fail_group(const Error& error, int rank) {
    m_.group_error = error;
    m_.group_error_rank = rank;
    kill();
  }

  void start_verdict(double seconds) {
    if (m_.killed) return;
    if (!m_.failing) {
      m_.failing = true;
      add(action::SetVerdictTimer{seconds});
    }
    check_verdict();
  }

  void check_verdict() {
    if (std::all_of(m_.ranks.begin(), m_.ranks.end(), is_accounted_for)) kill();
  }

  void kill() {
    if (m_.killed) return;
    m_.killed = true;
    m_.state = RunState::kShuttingDown;
    add(action::ClearDeadline{});
    add(action::KillGroup{});
    check_all_gone();
  }

  void check_all_gone() {
    const bool all_gone =
        std::all_of(m_.ranks.begin(), m_.ranks.end(), [](const auto& r) { return r.gone; });
    if (all_gone && m_.state == RunState::kShuttingDown) end_attempt();
  }

  void end_attempt() {
    if (m_.attempt_ending) return;
    m_.attempt_ending = true;
    m_.state = RunState::kShuttingDown;
    add(action::ClearDeadline{});
    if (m_.group_error) {
      m_.error = GroupError{*m_.group_error, m_.group_error_rank, first_cause(m_.ranks).ranks};
      if (m_.stop) m_.error->ranks.clear();
    } else if (m_.failing) {
      m_.error = first_cause(m_.ranks);
    }
    add(action::EndAttempt{final_state(), m_.error});
  }

  RunState final_state() const {
    if (m_.stop && m_.error) return RunState::kAborted;
    return m_.error ? RunState::kErrored : RunState::kFinished;
  }

  void end_run() {
    m_.run_ending = true;
    m_.state = RunState::kShuttingDown;
    if (m_.group_error) m_.error = GroupError{*m_.group_error, m_.group_error_rank, {}};
    add(action::EndRun{final_state(), m_.error});
  }

  // Where there is no group, the run ends at once; where its row is being written, after that.
  void stop_everything(const Error& error) {
    m_.group_error = error;
    m_.group_error_rank = -1;
    if (m_.run_ending) return;
    const bool waiting = m_.state == RunState::kRestarting || m_.state == RunState::kRescheduling ||
                         m_.state == RunState::kInitializing;
    if (waiting) return end_run();
    if (!m_.ranks.empty()) kill();
  }

  Machine m_;
  std::vector<Action> actions_;
};

}  // namespace

std::string_view state_name(RunState state) { return kStateNames[static_cast<size_t>(state)]; }

std::string_view phase_name(Phase phase) { return kPhaseNames[static_cast<size_t>(phase)]; }

std::optional<Phase> phase_from_name(std::string_view name) {
  for (size_t i = 0; i < kPhaseNames.size(); ++i) {
    if (name == kPhaseNames[i]) return static_cast<Phase>(i);
  }
  return std::nullopt;
}

Step step(Machine machine, const Event& event) {
  Transition transition(std::move(machine));
  std::visit([&](const auto& e) { transition.on(e); }, event);
  return transition.take();
}

GroupError first_cause(const std::vector<RankState>& ranks) {
  GroupError out;
  const RankState* first = nullptr;
  const auto is_consequence = [](const RankState& r) { return r.error->code() == Code::kPeerLost; };
  for (size_t i = 0; i < ranks.size(); ++i) {
    const RankState& rank = ranks[i];
    if (!rank.error) continue;
    out.ranks.emplace(static_cast<int>(i), *rank.error);
    const bool better =
        first == nullptr || std::pair(is_consequence(rank), rank.error_time_s) <
                                std::pair(is_consequence(*first), first->error_time_s);
    if (!better) continue;
    first = &rank;
    out.cause = *rank.error;
    out.rank = static_cast<int>(i);
  }
  return out;
}

}  // namespace rtrain
