#include "host/engine/memory/history_frames.h"

#include <torch/csrc/profiler/combined_traceback.h>

#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "host/base/text/text.h"
#include "host/engine/memory/frame_users.h"
#include "host/engine/memory/memory_recording.h"

namespace rtrain::engine {
namespace {

using PyFrame = torch::CapturedTraceback::PyFrame;

constexpr int kMostFrames = 64;

thread_local lua_State* running = nullptr;

// The address of a string that is never freed; a history has few different frames.
void* interned(std::string text) {
  static std::mutex mutex;
  static auto& texts = *new std::unordered_set<std::string>();
  const std::lock_guard lock(mutex);
  return const_cast<std::string*>(&*texts.insert(std::move(text)).first);
}

// LibTorch's interface for Python frames, which it stores as a pointer and a number: here the file
// and function, and the line.
class LuaFrames final : public torch::CapturedTraceback::Python {
 public:
  bool canGather() override { return running != nullptr; }

  std::vector<PyFrame> gather() override {
    std::vector<PyFrame> out;
    lua_Debug info;
    for (int level = 0; level < kMostFrames && lua_getstack(running, level, &info) != 0; ++level) {
      if (lua_getinfo(running, "Sln", &info) == 0 || info.currentline < 0) continue;
      const char* name = info.name != nullptr ? info.name : "main chunk";
      out.push_back({interned(cat(info.short_src, "\n", name)), info.currentline});
    }
    return out;
  }

  void release(std::vector<PyFrame>&) override {}

  void appendSymbolized(const std::vector<PyFrame>& frames,
                        torch::SymbolizedTracebacks& out) override {
    for (const PyFrame& frame : frames) {
      const auto parts = split(*static_cast<const std::string*>(frame.code), '\n');
      out.tracebacks.push_back({out.all_frames.size()});
      out.all_frames.push_back({parts.front(), parts.back(), static_cast<uint64_t>(frame.lasti)});
    }
  }

  // Needed only by Python's garbage collector.
  int traverse(std::vector<PyFrame>&, torch::CapturedTraceback::visitproc, void*) override {
    return 0;
  }
  int clear(std::vector<PyFrame>&) override { return 0; }
};

}  // namespace

void install_frame_gatherer() {
  static std::once_flag once;
  std::call_once(once, [] { torch::CapturedTraceback::addPythonUnwinder(new LuaFrames()); });
}

void want_frames(FrameUser user, bool wanted) {
  static std::atomic<uint8_t> users{0};
  const auto bit = static_cast<uint8_t>(user);
  if (wanted) {
    users.fetch_or(bit);
  } else {
    users.fetch_and(static_cast<uint8_t>(~bit));
  }
  keeps_frames.store(users.load() != 0);
}

lua_State* frame_state() { return running; }

void FrameScope::begin(lua_State* L) {
  look_at_values(L);
  has_begun_ = true;
  before_ = running;
  running = L;
}

void FrameScope::end() { running = before_; }

}  // namespace rtrain::engine
