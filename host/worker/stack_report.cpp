#include "host/worker/stack_report.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "host/base/clock.h"
#include "host/base/text.h"
#include "host/loop/frame.h"
#include "host/lua/compiled_hooks.h"
#include "host/worker/program_stack.h"

namespace rtrain {
namespace {

constexpr std::chrono::milliseconds kHookWait{400};
constexpr int kMaxFrames = 32;
constexpr int kAnyEvent = LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT;

// Half of what a message may have: names and Lua lines take no more than the rest.
constexpr size_t kMaxFramesBytes = kMaxFrameBytes / 2;

// What the hook writes on the main thread and the asking thread reads once `done`.
struct Sample {
  std::atomic<bool> wanted{false};
  std::atomic<bool> done{false};
  lua_State* state = nullptr;
  lua_Hook hook_before = nullptr;
  int mask_before = 0;
  int count_before = 0;
  int count = 0;
  std::array<PageFrame, kMaxFrames> frames;
};
Sample sample;

void on_hook(lua_State* L, lua_Debug*) {
  lua_sethook(L, sample.hook_before, sample.mask_before, sample.count_before);
  if (!sample.wanted.exchange(false)) return;
  sample.count = 0;
  lua_Debug info;
  for (int level = 0; sample.count < kMaxFrames && lua_getstack(L, level, &info) != 0; ++level) {
    if (lua_getinfo(L, "Sl", &info) == 0 || info.currentline < 0) continue;
    char text[sizeof(PageFrame::bytes)];
    std::snprintf(text, sizeof(text), "%s:%d", info.short_src, info.currentline);
    sample.frames[static_cast<size_t>(sample.count++)].set(text);
  }
  sample.done.store(true, std::memory_order_release);
}

// In the signal handler, on the main thread: as lua.c does at Ctrl-C.
void set_hook() {
  if (!sample.wanted || lua_gethook(sample.state) == &on_hook) return;
  sample.hook_before = lua_gethook(sample.state);
  sample.mask_before = lua_gethookmask(sample.state);
  sample.count_before = lua_gethookcount(sample.state);
  lua_sethook(sample.state, &on_hook, kAnyEvent, 1);
}

std::vector<std::string> sampled_lines() {
  const auto deadline = std::chrono::steady_clock::now() + kHookWait;
  while (!sample.done && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::vector<std::string> out;
  if (!sample.done.load(std::memory_order_acquire)) return out;
  for (int i = 0; i < sample.count; ++i)
    out.emplace_back(sample.frames[static_cast<size_t>(i)].view());
  return out;
}

}  // namespace

void fit_into_message(std::vector<ThreadStack>& stacks) {
  size_t bytes = 0;
  for (ThreadStack& stack : stacks) {
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
  sample.state = progress.state();
  sample.done = false;
  sample.wanted = !waits && program == 0 && sample.state != nullptr;
  message::Stack out;
  out.pid = getpid();
  if (program > 0) out.program = program_stack(program);
  out.threads = native_stacks(sample.wanted ? &set_hook : nullptr);
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
    out.state = hooks_reach_compiled_code() ? "busy in native code"
                                            : "busy in native code or in a compiled loop";
  }
  return out;
}

}  // namespace rtrain
