#include "tests/sim/event_code.h"

#include <array>
#include <cctype>

#include "host/base/text/text.h"

namespace rtrain::sim {
namespace {

std::string code(bool value) { return value ? "true" : "false"; }
std::string code(int value) { return std::to_string(value); }
std::string code(double value) { return cat(value); }
std::string code(const std::string& value) { return cat('"', value, '"'); }

// Returns kPeerLost for "peer_lost".
std::string enumerator(std::string_view name) {
  std::string out = "k";
  bool begins = true;
  for (const char c : name) {
    if (c != '_') out += begins ? static_cast<char>(std::toupper(c)) : c;
    begins = c == '_';
  }
  return out;
}

std::string code(const Error& error) {
  return cat("Error(Code::", enumerator(code_name(error.code())), ", ", code(error.message()), ')');
}
std::string code(const std::vector<int>& numbers) {
  std::string out;
  for (const int each : numbers) out += cat(out.empty() ? "{" : ", ", each);
  return out + '}';
}
std::string code(decide::Phase phase) {
  constexpr std::array kNames = {"kSpawn", "kHello", "kEngineLoaded", "kGroupReady", "kRunning"};
  return cat("Phase::", kNames.at(static_cast<size_t>(phase)));
}
std::string code(decide::StopKind kind) {
  constexpr std::array kNames = {"kInterrupt", "kTerminate", "kOperator", "kPredicate", "kResize"};
  return cat("StopKind::", kNames.at(static_cast<size_t>(kind)));
}
std::string code(decide::FailureKind kind) {
  constexpr std::array kNames = {"kWorkerGroup", "kController", "kPreemption"};
  return cat("FailureKind::", kNames.at(static_cast<size_t>(kind)));
}
std::string code(const decide::Unwinding& it) {
  return cat("{", it.step, ", ", it.index, ", ", code(it.error), ", ", code(it.time_s), "}");
}

// Returns the code of an event with its fields in order.
template <class... Fields>
std::string braced(std::string_view name, const Fields&... fields) {
  std::string out = cat("event::", name, '{');
  std::string_view before;
  ((out += cat(before, code(fields)), before = ", "), ...);
  return out + '}';
}

struct ToCode {
  std::string operator()(const decide::event::Started&) const { return braced("Started"); }
  std::string operator()(const decide::event::ResourcesGranted& e) const {
    return braced("ResourcesGranted", e.num_workers);
  }
  std::string operator()(const decide::event::ResourcesRefused& e) const {
    return braced("ResourcesRefused", e.error);
  }
  std::string operator()(const decide::event::AttemptBegun&) const {
    return braced("AttemptBegun");
  }
  std::string operator()(const decide::event::SpawnFailed& e) const {
    return braced("SpawnFailed", e.error, e.rank, e.end, e.transient);
  }
  std::string operator()(const decide::event::PhaseReached& e) const {
    return braced("PhaseReached", e.rank, e.phase);
  }
  std::string operator()(const decide::event::DeadlinePassed& e) const {
    return braced("DeadlinePassed", e.attempt);
  }
  std::string operator()(const decide::event::Returned& e) const {
    return braced("Returned", e.rank);
  }
  std::string operator()(const decide::event::Failed& e) const {
    return braced("Failed", e.rank, e.error, e.time_s);
  }
  std::string operator()(const decide::event::Dying& e) const {
    return braced("Dying", e.rank, e.time_s);
  }
  std::string operator()(const decide::event::Gone& e) const {
    return braced("Gone", e.rank, e.error, e.time_s, e.has_host, e.can_move);
  }
  std::string operator()(const decide::event::VerdictDue& e) const {
    return braced("VerdictDue", e.attempt);
  }
  std::string operator()(const decide::event::CheckpointCommitted& e) const {
    return braced("CheckpointCommitted", e.attempt);
  }
  std::string operator()(const decide::event::Healable& e) const {
    return braced("Healable", e.rank, e.is, e.fixed);
  }
  std::string operator()(const decide::event::HealDue& e) const {
    return braced("HealDue", e.attempt);
  }
  std::string operator()(const decide::event::RoomFound& e) const {
    return braced("RoomFound", e.attempt, e.ranks);
  }
  std::string operator()(const decide::event::Unwound& e) const {
    return braced("Unwound", e.rank, e.unwinding);
  }
  std::string operator()(const decide::event::ResourcesSeen& e) const {
    return braced("ResourcesSeen", e.attempt, e.capacity);
  }
  std::string operator()(const decide::event::AttemptEnded& e) const {
    return braced("AttemptEnded", e.new_checkpoint, e.ran_s);
  }
  std::string operator()(const decide::event::RetryDue& e) const {
    return braced("RetryDue", e.attempt);
  }
  std::string operator()(const decide::event::RunEnded&) const { return braced("RunEnded"); }
  std::string operator()(const decide::event::StopRequested& e) const {
    return braced("StopRequested", e.kind, e.by);
  }
  std::string operator()(const decide::event::StopSeen&) const { return braced("StopSeen"); }
  std::string operator()(const decide::event::StopComplete& e) const {
    return braced("StopComplete", e.attempt);
  }
  std::string operator()(const decide::event::GracePassed& e) const {
    return braced("GracePassed", e.attempt);
  }
  std::string operator()(const decide::event::StopNow& e) const {
    return braced("StopNow", e.kind, e.by);
  }
  std::string operator()(const decide::event::StorageFailed& e) const {
    return braced("StorageFailed", e.error);
  }
  std::string operator()(const decide::event::NodeUnhealthy& e) const {
    return braced("NodeUnhealthy", e.rank, e.error, e.kind);
  }
  std::string operator()(const decide::event::RankSlow& e) const {
    return braced("RankSlow", e.rank);
  }
  std::string operator()(const decide::event::Unbalanced&) const { return braced("Unbalanced"); }
};

}  // namespace

std::string to_code(const decide::Event& event) { return std::visit(ToCode(), event); }

}  // namespace rtrain::sim
