#include "host/train/watch/worker_death.h"

#include <csignal>

#include "host/base/text.h"
#include "host/machine/native_frame.h"
#include "host/machine/process_limits.h"

namespace rtrain {
namespace {

std::string text_of(const NativeFrame& frame) {
  return native_frame_text(frame.function.view(), frame.module.view(), frame.offset);
}

std::string line_text(const Crash& crash) {
  return crash.num_lua > 0 ? cat(", at ", crash.lua[0].view()) : "";
}

// ": std::runtime_error's text, in at::native::add (libtorch_cpu.so+0x12), at train.lua:7"
std::string crash_text(const Crash& crash) {
  std::string out;
  if (!crash.reason.view().empty()) out += cat(": ", crash.reason.view());
  out += line_text(crash);
  if (!crash.thread.view().empty()) {
    out += cat(", in its thread ", crash.thread.view());
  }
  return out;
}

std::string crash_stack(const Crash& crash) {
  std::string out;
  for (int i = 0; i < crash.num_lua; ++i) {
    out += cat("  ", crash.lua[static_cast<size_t>(i)].view(), "\n");
  }
  for (int i = 0; i < crash.num_native; ++i) {
    out += cat("  [C] ", text_of(crash.native[static_cast<size_t>(i)]), "\n");
  }
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

Error worker_death(int rank, const WorkerEnd& end, const std::string& last_words) {
  const Crash& crash = end.crash;
  const std::string who = rank_text(rank, end.pid);
  if (!end.broken.empty()) {
    return Error(Code::kWorkerLost,
                 cat(who, " was stopped: it sent what is not a message: ", end.broken));
  }
  if (!end.is_child) {
    return Error(Code::kWorkerLost, cat(who, " has gone before its train function returned"));
  }
  if (end.status.signal == 0) {
    return Error(Code::kWorkerLost, cat(who, " left early: its process ", to_text(end.status),
                                        " before the train function returned", quoted(last_words)));
  }
  if (crash.signal == SIGABRT && crash.reason.view() == "std::bad_alloc") {
    return Error(
        Code::kWorkerLost,
        cat(who, " ran out of memory: the system refused what it asked for", address_limit_text(),
            ": use less memory, or raise the limit", line_text(crash)),
        crash_stack(crash));
  }
  std::string text = cat(who, " was ", to_text(end.status));
  if (end.status.signal == SIGKILL)
    return Error(Code::kWorkerLost, text + kill_hint(end.oom_kills));
  if (crash.signal == end.status.signal) text += crash_text(crash);
  return Error(Code::kWorkerLost, text + quoted(last_words),
               crash.signal == end.status.signal ? crash_stack(crash) : "");
}

std::string death_notice(int rank, int pid, int num_workers) {
  const char* others = num_workers == 1   ? ""
                       : num_workers == 2 ? ": the other rank is being ended"
                                          : ": the other ranks are being ended";
  return cat(rank_text(rank, pid), " has died", others);
}

}  // namespace rtrain
