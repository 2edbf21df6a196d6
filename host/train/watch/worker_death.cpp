#include "host/train/watch/worker_death.h"

#include <csignal>

#include "host/base/text/text.h"
#include "host/machine/processes/process_limits.h"

namespace rtrain::train {
namespace {

std::string line_text(const node::LastMoments& last) {
  return last.lua.empty() ? "" : cat(", at ", last.lua.front());
}

// ": std::runtime_error's text, in at::native::add (libtorch_cpu.so+0x12), at train.lua:7"
std::string crash_text(const node::LastMoments& last) {
  std::string out;
  if (!last.reason.empty()) out += cat(": ", last.reason);
  out += line_text(last);
  if (!last.thread.empty()) out += cat(", in its thread ", last.thread);
  return out;
}

std::string crash_stack(const node::LastMoments& last) {
  std::string out;
  for (const std::string& line : last.lua) out += cat("  ", line, "\n");
  for (const std::string& frame : last.native) out += cat("  [C] ", frame, "\n");
  return out;
}

std::string quoted(const std::string& last_words) {
  return last_words.empty() ? "" : cat("; its last line on stderr: ", last_words);
}

std::string rank_text(int rank, int pid) {
  return cat("rank ", rank, pid > 0 ? cat(" (pid ", pid, ")") : "");
}

std::string kill_hint(int64_t oom_kills) {
  if (oom_kills > 0) {
    return ": the kernel ended it for want of memory (memory.events counts an oom_kill): use less "
           "memory, fewer workers, or a higher limit";
  }
  return ", by somebody else: an operator, a scheduler, or the kernel for want of memory (dmesg "
         "tells)";
}

}  // namespace

Error worker_death(int rank, const node::WorkerEnd& end, const std::string& last_words) {
  const node::LastMoments& last = end.last;
  const std::string who = rank_text(rank, end.pid);
  if (!end.lost.empty()) return Error(Code::kWorkerLost, cat(who, " was lost: ", end.lost));
  if (!end.broken.empty()) {
    return Error(Code::kWorkerLost,
                 cat(who, " was stopped: it sent what is not a message: ", end.broken));
  }
  if (!end.is_child) {
    return Error(Code::kWorkerLost, cat(who, " has gone before its train function returned"));
  }
  if (end.status.signal == 0) {
    return Error(Code::kWorkerLost, cat(who, " left early: its process ", loop::to_text(end.status),
                                        " before the train function returned", quoted(last_words)));
  }
  if (last.signal == SIGABRT && last.reason == "std::bad_alloc") {
    return Error(Code::kWorkerLost,
                 cat(who, " ran out of memory: the system refused what it asked for",
                     machine::address_limit_text(), ": use less memory, or raise the limit",
                     line_text(last)),
                 crash_stack(last));
  }
  std::string text = cat(who, " was ", loop::to_text(end.status));
  if (end.status.signal == SIGKILL)
    return Error(Code::kWorkerLost, text + kill_hint(end.oom_kills));
  if (last.signal == end.status.signal) text += crash_text(last);
  return Error(Code::kWorkerLost, text + quoted(last_words),
               last.signal == end.status.signal ? crash_stack(last) : "");
}

std::string death_notice(const Death& death) {
  const auto effect = [&death]() -> std::string_view {
    if (death.effect == decide::DeathEffect::kReplaced) {
      return ": it is replaced, and the others do the step that was cut again";
    }
    if (death.effect == decide::DeathEffect::kMoved) {
      return ": its node is lost, and the others wait for another one that takes its place";
    }
    if (death.effect == decide::DeathEffect::kLeftOut) {
      return ": the others go on without it, and do the step that was cut again";
    }
    if (death.num_workers == 1) return "";
    return death.num_workers == 2 ? ": the other rank is being ended"
                                  : ": the other ranks are being ended";
  };
  return cat(rank_text(death.rank, death.pid), " has died", effect(),
             death.because.empty() ? "" : cat(", since ", death.because));
}

}  // namespace rtrain::train
