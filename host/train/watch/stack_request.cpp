#include "host/train/watch/stack_request.h"

#include <algorithm>
#include <utility>

#include "host/base/clock.h"
#include "host/base/text/text.h"

namespace rtrain::train {
namespace {

std::vector<loop::RankCollective> last_calls(const decide::RankFacts& facts) {
  std::vector<loop::RankCollective> out;
  for (const decide::CollectiveFacts& call : facts.calls) {
    out.push_back({.sequence = static_cast<int64_t>(call.sequence),
                   .operation = call.operation,
                   .tensors = call.tensors,
                   .line = call.line});
  }
  return out;
}

// The script's lines, or all lines if none is the script's.
std::vector<std::string> shown_lines(const std::vector<std::string>& lines, StackDetail detail) {
  if (detail == StackDetail::kAll) return lines;
  std::vector<std::string> own;
  for (const std::string& line : lines) {
    if (!line.starts_with("rtrain://")) own.push_back(line);
  }
  return own.empty() ? lines : own;
}

void append(std::string& out, const std::string& title, const loop::ThreadStack& thread) {
  out += cat("  ", title, "\n");
  for (const std::string& frame : thread.frames) out += cat("    ", frame, "\n");
}

}  // namespace

StackRequest::StackRequest(loop::Loop& loop, Facts facts, Send send,
                           std::chrono::milliseconds deadline)
    : facts_(std::move(facts)),
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
    if (facts_(target.rank).state == 'T') continue;
    send_(target.rank, message::AskStack{.id = id_, .folder = folder});
  }
  deadline_.start(most_);
  finish_if_done();
}

StackRequest::Asked* StackRequest::find(int rank) {
  const auto found = std::find_if(asked_.begin(), asked_.end(),
                                  [rank](const Asked& each) { return each.target.rank == rank; });
  return waiting_.empty() || found == asked_.end() ? nullptr : &*found;
}

void StackRequest::on_answer(int rank, message::Stack stack) {
  Asked* asked = find(rank);
  if (asked == nullptr || stack.id != id_) return;
  asked->answer = std::move(stack);
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
  std::vector<loop::RankStack> out;
  for (Asked& asked : asked_) {
    loop::RankStack& each = out.emplace_back(describe(asked));
    if (!asked.answer) continue;
    each.state = std::move(asked.answer->state);
    each.lua = std::move(asked.answer->lua);
    each.threads = std::move(asked.answer->threads);
    each.program = std::move(asked.answer->program);
  }
  for (const Done& done : std::exchange(waiting_, {})) done(out);
}

loop::RankStack StackRequest::describe(const Asked& asked) const {
  const auto& [rank, pid] = asked.target;
  const decide::RankFacts facts = facts_(rank);
  loop::RankStack out;
  out.rank = rank;
  out.pid = pid;
  out.collectives = last_calls(facts);
  out.state = asked.is_gone        ? "has ended"
              : facts.state == 'T' ? "stopped (SIGSTOP)"
                                   : "does not answer";
  if (facts.wait) {
    out.state += cat(asked.is_gone ? ", was waiting in " : ", waits in ", facts.wait->operation,
                     " for ", static_cast<int64_t>(monotonic_s() - facts.wait->since_s), " s");
    out.lua = facts.wait->frames;
  }
  return out;
}

std::string stack_text(const loop::RankStack& stack, StackDetail detail) {
  const std::string phase = stack.phase.empty() ? "" : cat(", ", stack.phase);
  std::string out = cat("rank ", stack.rank, " (pid ", stack.pid, phase, ") ", stack.state, "\n");
  const bool is_all = detail == StackDetail::kAll;
  const auto& lines = !is_all && !stack.program.empty() ? stack.program.front().frames : stack.lua;
  for (const std::string& line : shown_lines(lines, detail)) out += cat("  ", line, "\n");
  for (const loop::RankCollective& call : stack.collectives) {
    out += cat("  collective ", call.sequence, ": ", call.operation, "(", call.tensors, ") ",
               call.line, "\n");
  }
  if (!is_all) return out;
  for (const loop::ThreadStack& thread : stack.program)
    append(out, cat("Python thread ", thread.name), thread);
  for (const loop::ThreadStack& thread : stack.threads) {
    append(out, cat("thread ", thread.name, " (", thread.tid, ")"), thread);
  }
  return out;
}

}  // namespace rtrain::train
