#include "host/train/stack_request.h"

#include <algorithm>
#include <utility>

#include "host/base/clock.h"
#include "host/base/process_facts.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

constexpr std::chrono::milliseconds kDeadline{2500};
constexpr uint64_t kLastCalls = 8;

List frames_of(const BlockedCall& call) {
  List out;
  for (int i = 0; i < call.num_frames && i < kPageFrames; ++i) {
    out.push_back(call.frames[static_cast<size_t>(i)].view());
  }
  return out;
}

List last_calls(const ProgressPage& page) {
  List out;
  const uint64_t last = page.collectives.load(std::memory_order_relaxed);
  for (uint64_t s = last > kLastCalls ? last - kLastCalls + 1 : 1; s <= last; ++s) {
    const auto call = page.call(s);
    if (!call) continue;
    out.push_back(Map{{"sequence", static_cast<int64_t>(s)},
                      {"operation", call->operation.view()},
                      {"tensors", call->tensors.view()},
                      {"line", call->line.view()}});
  }
  return out;
}

}  // namespace

StackRequest::StackRequest(Loop& loop, const ProgressBoard& board,
                           std::function<void(int rank, const Value& message)> send)
    : board_(board), send_(std::move(send)), deadline_(loop, [this] { finish(); }) {}

void StackRequest::start(const std::vector<Target>& targets, const std::string& folder, Done done) {
  waiting_.push_back(std::move(done));
  if (waiting_.size() > 1) return;
  targets_ = targets;
  answers_.assign(targets.size(), {});
  ++id_;
  for (const Target& target : targets_) {
    if (process_facts(target.pid).state == 'T') continue;
    send_(target.rank, Map{{"type", "stack"}, {"id", id_}, {"folder", folder}});
  }
  deadline_.start(kDeadline);
}

void StackRequest::on_answer(int rank, const Value& message) {
  if (waiting_.empty() || message["id"].as_int() != id_) return;
  bool complete = true;
  for (size_t i = 0; i < targets_.size(); ++i) {
    if (targets_[i].rank == rank) answers_[i] = message;
    complete = complete && !answers_[i].is_nil();
  }
  if (complete) finish();
}

void StackRequest::finish() {
  deadline_.stop();
  List out;
  for (size_t i = 0; i < targets_.size(); ++i) {
    Map each = describe(targets_[i]);
    if (!answers_[i].is_nil()) {
      for (const char* key : {"state", "lua", "threads"}) each.set(key, answers_[i][key]);
    }
    out.push_back(std::move(each));
  }
  for (const Done& done : std::exchange(waiting_, {})) done(out);
}

Map StackRequest::describe(const Target& target) const {
  const ProgressPage& page = board_.page(target.rank);
  const ProcessFacts facts = process_facts(target.pid);
  const auto blocked = page.blocked.read();
  std::string state = facts.state == 'T' ? "stopped (SIGSTOP)" : "does not answer";
  List lua;
  if (blocked && blocked->depth > 0) {
    state += cat(", waits in ", blocked->operation.view(), " for ",
                 static_cast<int64_t>(monotonic_s() - blocked->since_s), " s");
    lua = frames_of(*blocked);
  }
  return Map{{"rank", target.rank},   {"pid", target.pid}, {"state", state},
             {"lua", std::move(lua)}, {"threads", List{}}, {"collectives", last_calls(page)}};
}

std::string stack_text(const Value& stack) {
  const std::string phase = stack["phase"].is_nil() ? "" : cat(", ", stack["phase"].as_string());
  std::string out = cat("rank ", stack["rank"].as_int(), " (pid ", stack["pid"].as_int(), phase,
                        ") ", stack["state"].as_string(), "\n");
  for (const Value& line : stack["lua"].as_list()) out += cat("  ", line.as_string(), "\n");
  for (const Value& call : stack["collectives"].as_list()) {
    out += cat("  collective ", call["sequence"].as_int(), ": ", call["operation"].as_string(), "(",
               call["tensors"].as_string(), ") ", call["line"].as_string(), "\n");
  }
  for (const Value& thread : stack["threads"].as_list()) {
    out += cat("  thread ", thread["name"].as_string(), " (", thread["tid"].as_int(), ")\n");
    for (const Value& frame : thread["frames"].as_list())
      out += cat("    ", frame.as_string(), "\n");
  }
  return out;
}

}  // namespace rtrain
