#include "host/train/watch/stack_request.h"

#include <algorithm>
#include <utility>

#include "host/base/clock.h"
#include "host/base/text.h"
#include "host/machine/process_facts.h"

namespace rtrain {
namespace {

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

// The script's own, or all where there are none of it.
List shown_lines(const List& lines, StackDetail detail) {
  if (detail == StackDetail::kAll) return lines;
  List own;
  for (const Value& line : lines) {
    if (!line.as_string().starts_with("rtrain://")) own.push_back(line);
  }
  return own.empty() ? lines : own;
}

}  // namespace

StackRequest::StackRequest(Loop& loop, const ProgressBoard& board,
                           std::function<void(int rank, const Value& message)> send,
                           std::chrono::milliseconds deadline)
    : board_(board),
      send_(std::move(send)),
      most_(deadline),
      deadline_(loop, [this] { finish(); }) {}

void StackRequest::start(const std::vector<Target>& targets, const std::string& folder, Done done) {
  waiting_.push_back(std::move(done));
  if (waiting_.size() > 1) return;
  asked_.clear();
  for (const Target& target : targets) asked_.push_back({.target = target, .answer = {}});
  ++id_;
  for (const Target& target : targets) {
    if (process_facts(target.pid).state == 'T') continue;
    send_(target.rank, Map{{"type", "stack"}, {"id", id_}, {"folder", folder}});
  }
  deadline_.start(most_);
  finish_if_done();
}

StackRequest::Asked* StackRequest::find(int rank) {
  const auto found = std::find_if(asked_.begin(), asked_.end(),
                                  [rank](const Asked& each) { return each.target.rank == rank; });
  return waiting_.empty() || found == asked_.end() ? nullptr : &*found;
}

void StackRequest::on_answer(int rank, const Value& message) {
  Asked* asked = find(rank);
  if (asked == nullptr || message["id"].as_int() != id_) return;
  asked->answer = message;
  finish_if_done();
}

void StackRequest::on_gone(int rank) {
  Asked* asked = find(rank);
  if (asked == nullptr) return;
  asked->is_gone = true;
  finish_if_done();
}

void StackRequest::finish_if_done() {
  if (std::all_of(asked_.begin(), asked_.end(), [](const Asked& each) { return each.is_done(); })) {
    finish();
  }
}

void StackRequest::finish() {
  deadline_.stop();
  List out;
  for (const Asked& asked : asked_) {
    Map each = describe(asked);
    if (!asked.answer.is_nil()) {
      for (const char* key : {"state", "lua", "threads"}) each.set(key, asked.answer[key]);
    }
    out.push_back(std::move(each));
  }
  for (const Done& done : std::exchange(waiting_, {})) done(out);
}

Map StackRequest::describe(const Asked& asked) const {
  const auto& [rank, pid] = asked.target;
  const ProgressPage& page = board_.page(rank);
  const auto blocked = page.blocked.read();
  std::string state = asked.is_gone                     ? "has ended"
                      : process_facts(pid).state == 'T' ? "stopped (SIGSTOP)"
                                                        : "does not answer";
  List lua;
  if (blocked && blocked->depth > 0) {
    state += cat(asked.is_gone ? ", was waiting in " : ", waits in ", blocked->operation.view(),
                 " for ", static_cast<int64_t>(monotonic_s() - blocked->since_s), " s");
    lua = frames_of(*blocked);
  }
  return Map{{"rank", rank},          {"pid", pid},        {"state", state},
             {"lua", std::move(lua)}, {"threads", List{}}, {"collectives", last_calls(page)}};
}

std::string stack_text(const Value& stack, StackDetail detail) {
  const std::string phase = stack["phase"].is_nil() ? "" : cat(", ", stack["phase"].as_string());
  std::string out = cat("rank ", stack["rank"].as_int(), " (pid ", stack["pid"].as_int(), phase,
                        ") ", stack["state"].as_string(), "\n");
  for (const Value& line : shown_lines(stack["lua"].as_list(), detail)) {
    out += cat("  ", line.as_string(), "\n");
  }
  for (const Value& call : stack["collectives"].as_list()) {
    out += cat("  collective ", call["sequence"].as_int(), ": ", call["operation"].as_string(), "(",
               call["tensors"].as_string(), ") ", call["line"].as_string(), "\n");
  }
  if (detail == StackDetail::kScript) return out;
  for (const Value& thread : stack["threads"].as_list()) {
    out += cat("  thread ", thread["name"].as_string(), " (", thread["tid"].as_int(), ")\n");
    for (const Value& frame : thread["frames"].as_list())
      out += cat("    ", frame.as_string(), "\n");
  }
  return out;
}

}  // namespace rtrain
