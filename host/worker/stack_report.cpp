#include "host/worker/stack_report.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "host/base/clock.h"
#include "host/base/text/text.h"
#include "host/loop/channel/frame.h"
#include "host/lua/compiled_hooks.h"
#include "host/worker/profile/lua_stack.h"
#include "host/worker/profile/program_stack.h"

namespace rtrain::worker {
namespace {

constexpr std::chrono::milliseconds kHookWait{400};
// Half of the size of a message, since names and Lua lines need at most the other half.
constexpr size_t kMaxFramesBytes = loop::kMaxFrameBytes / 2;

// The main thread writes it, and the requesting thread reads it once `done` is set.
LuaStack sample;

// Called by the signal handler, on the main thread.
void ask_main_thread() {
  if (sample.wanted) write_at_next_instruction(sample);
}

std::vector<std::string> sampled_lines() {
  const auto deadline = std::chrono::steady_clock::now() + kHookWait;
  while (!sample.done && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::vector<std::string> out;
  if (!sample.done.load(std::memory_order_acquire)) return out;
  for (int i = 0; i < sample.count; ++i) {
    const LuaFrame& frame = sample.frames[static_cast<size_t>(i)];
    out.push_back(cat(std::string_view(frame.source.data()), ":", frame.line));
  }
  return out;
}

}  // namespace

void fit_into_message(std::vector<loop::ThreadStack>& stacks) {
  size_t bytes = 0;
  for (loop::ThreadStack& stack : stacks) {
    size_t kept = 0;
    for (const std::string& frame : stack.frames) {
      bytes += frame.size();
      if (bytes > kMaxFramesBytes) break;
      ++kept;
    }
    stack.frames.resize(kept);
  }
}

message::Stack stack_report(Progress& progress) {
  const auto blocked = progress.page().blocked.read();
  const bool waits = blocked && blocked->depth > 0;
  const int program = progress.page().program.load(std::memory_order_acquire);
  sample.done = false;
  sample.wanted = !waits && program == 0 && progress.state() != nullptr;
  message::Stack out;
  out.pid = getpid();
  if (program > 0) out.program = program_stack(program);
  out.threads = native_stacks(sample.wanted ? &ask_main_thread : nullptr);
  fit_into_message(out.program);
  fit_into_message(out.threads);
  if (program > 0) {
    out.state = cat("runs a program (pid ", program, ")");
    return out;
  }
  if (waits) {
    for (int i = 0; i < blocked->num_frames; ++i) {
      out.lua.emplace_back(blocked->frames[static_cast<size_t>(i)].view());
    }
    out.state = cat("waits in ", blocked->operation.view(), " for ",
                    static_cast<int64_t>(monotonic_s() - blocked->since_s), " s");
    return out;
  }
  if (sample.wanted || sample.done) out.lua = sampled_lines();
  out.state = "busy";
  if (out.lua.empty()) {
    out.state = lua::hooks_reach_compiled_code() ? "busy in native code"
                                                 : "busy in native code or in a compiled loop";
  }
  return out;
}

}  // namespace rtrain::worker
