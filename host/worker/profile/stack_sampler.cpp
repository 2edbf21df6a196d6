#include "host/worker/profile/stack_sampler.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "host/base/text/text.h"
#include "host/machine/processes/native_frame.h"
#include "host/worker/profile/native_stack.h"
#include "host/worker/profile/sample_slot.h"
#include "host/worker/profile/thread_clock.h"

// NOLINTBEGIN(readability-identifier-naming, bugprone-reserved-identifier): names of others.
// Finds the unwind data of an address. As a side effect it reads the data of code that was compiled
// since its last call. That allocates, so a signal handler should not be the first to call it.
extern "C" void* _Unwind_Find_FDE(void* pc, void* bases);
// NOLINTEND(readability-identifier-naming, bugprone-reserved-identifier)

namespace rtrain::worker {
namespace {

using Where = SampleSlot::Where;

constexpr int64_t kTicksBetweenLists = 16;
// A sample is used without Lua lines when the thread has run no Lua instruction for this number of
// ticks (a sample of a wait) or for this processor time (a sample of a running thread).
constexpr int kTicksForLua = 3;
constexpr double kCpuForLuaS = 0.03;
// A thread that has slept for this number of ticks is looked at less often.
constexpr int kIdleTicks = 8;
constexpr int64_t kTicksBetweenLooks = 4;
// A thread may use this processor time to leave the signal handler: that does not count as running.
constexpr double kLeavingS = 50e-6;
// The next timer is set at least this far ahead: one in the past would interrupt a sleeping thread.
constexpr double kSoonS = 1e-4;
// Shorter waits for a processor, and shorter waits without a known stack, are not shown.
constexpr double kWorthTellingS = 1e-3;
constexpr double kNeverS = 1e9;
constexpr char kLuaKey = 'L';
constexpr char kNativeKey = 'N';
constexpr char kInterpreterKey = 'I';  // an address in LuaJIT or in compiled Lua code
constexpr char kTextKey = 'T';

std::string lua_key(const LuaFrame& frame) {
  return cat(kLuaKey, std::string_view(frame.name.data()), '\n',
             std::string_view(frame.source.data()), '\n', frame.line);
}

std::string address_key(char kind, uintptr_t address) {
  std::string key(1 + sizeof(address), kind);
  std::memcpy(key.data() + 1, &address, sizeof(address));
  return key;
}

bool is_address(std::string_view key) { return key[0] == kNativeKey || key[0] == kInterpreterKey; }

uintptr_t address_of_key(std::string_view key) {
  uintptr_t address = 0;
  std::memcpy(&address, key.data() + 1, sizeof(address));
  return address;
}

// The frame has no name where it is not shown.
profile::StackFrame native_frame(std::string_view key, const machine::NativeSymbol& symbol) {
  const bool is_compiled = key[0] == kInterpreterKey && symbol.module.empty();
  return {.name = is_compiled ? "" : machine::shown_function(symbol.function, symbol.module),
          .file = symbol.module};
}

profile::StackFrame lua_frame(std::string_view key) {
  const std::vector<std::string> parts = split(key.substr(1), '\n');
  return {.name = parts.at(0), .file = parts.at(1), .line = std::atoll(parts.at(2).c_str())};
}

}  // namespace

// The stacks of all threads with one name. Their clocks say how long they ran, the samples in which
// stacks.
struct StackSampler::Seen {
  double ran_s = 0;
  double ready_s = 0;                // ready to run, but without a processor
  std::map<Stack, int64_t> running;  // number of samples
  std::map<Stack, double> waiting;   // seconds
};

struct StackSampler::Thread {
  int tid = 0;
  size_t slot = 0;  // for samples while it runs; the next slot: while it waits
  Seen* seen = nullptr;
  bool is_main = false;
  bool is_asked = false;
  bool is_leaving = false;  // it wrote a sample of a wait since its clock was last read
  bool has_ended = false;
  bool is_waiting = false;  // in `place`, and it has not run since
  int ticks_for_lua = 0;
  int idle_ticks = 0;       // since it has last run
  double last_s = 0;        // its time is counted until then
  double last_cpu_s = 0;    // its clock at last_s
  double last_ready_s = 0;  // the kernel's count of ready time at last_s
  double cpu_s = -1;        // its clock when last read
  double answer_cpu_s = 0;  // its clock after its last sample of a wait
  double waited_s = 0;      // counted waits without a known stack
  Stack place = {};         // the stack of its last wait
  CpuTimer timer;
};

StackSampler::StackSampler(bool is_idle_wanted)
    : is_idle_wanted_(is_idle_wanted),
      begun_own_s_(clock_s(CLOCK_THREAD_CPUTIME_ID)),
      begun_process_s_(clock_s(CLOCK_PROCESS_CPUTIME_ID)),
      slots_(sample_slots()) {
  for (size_t slot = 0; slot < slots_.size(); slot += 2) free_slots_.push_back(slot);
  set_sample_handler(&write_sample);
}

StackSampler::~StackSampler() {
  set_sample_handler(nullptr);
  for (SampleSlot& slot : slots_) slot.lua.wanted = false;
}

SamplingCost StackSampler::cost() const {
  return {.own_s = clock_s(CLOCK_THREAD_CPUTIME_ID) - begun_own_s_ + handlers_s_,
          .process_s = clock_s(CLOCK_PROCESS_CPUTIME_ID) - begun_process_s_};
}

void StackSampler::list_threads(double interval_s) {
  for (const int tid : other_threads()) {
    if (free_slots_.empty()) return;
    if (threads_.count(tid) != 0) continue;
    const bool is_main = tid == getpid();
    const std::string name = is_main ? "main" : thread_name(tid);
    const double cpu_s = thread_cpu_s(tid);
    if (name.empty() || cpu_s < 0) continue;
    const size_t slot = free_slots_.back();
    Thread thread{.tid = tid,
                  .slot = slot,
                  .seen = &seen_[name],
                  .is_main = is_main,
                  .last_s = clock_s(CLOCK_MONOTONIC),
                  .last_cpu_s = cpu_s,
                  .last_ready_s = thread_ready_s(tid).value_or(0),
                  .timer = CpuTimer(tid, stack_signal(), static_cast<int>(slot))};
    slots_[slot].done = false;
    slots_[slot].is_for_waits = false;
    slots_[slot + 1].is_for_waits = true;
    // The first sample comes at a random time, so that threads with short lives get their share.
    thread.timer.set(cpu_s + interval_s * std::uniform_real_distribution<>()(random_));
    threads_.emplace(tid, std::move(thread));
    free_slots_.pop_back();
  }
}

void StackSampler::tick(double interval_s) {
  std::array<void*, 4> bases{};
  _Unwind_Find_FDE(reinterpret_cast<void*>(&lua_key), bases.data());
  // Each thread has a folder in /proc/self/task, so the number of links changes with the threads.
  struct stat folder {};
  const bool has_changed =
      stat("/proc/self/task", &folder) == 0 && std::exchange(links_, folder.st_nlink) != links_;
  if (has_changed || ticks_ % kTicksBetweenLists == 0) list_threads(interval_s);
  ++ticks_;
  for (auto place = threads_.begin(); place != threads_.end();) {
    Thread& thread = place->second;
    const bool is_due = thread.idle_ticks < kIdleTicks ||
                        (ticks_ + static_cast<int64_t>(thread.slot / 2)) % kTicksBetweenLooks == 0;
    if (is_due) look(thread, interval_s);
    if (thread.has_ended) free_slots_.push_back(thread.slot);
    place = thread.has_ended ? threads_.erase(place) : std::next(place);
  }
}

void StackSampler::look(Thread& thread, double interval_s) {
  const double now_s = clock_s(CLOCK_MONOTONIC);
  const double cpu_s = thread_cpu_s(thread.tid);
  thread.has_ended = cpu_s < 0;
  take_running(thread, cpu_s, interval_s);
  if (thread.has_ended) return;
  if (thread.is_asked) take_waiting(thread);
  const bool has_run =
      thread.is_leaving ? cpu_s - thread.answer_cpu_s > kLeavingS : cpu_s != thread.cpu_s;
  thread.is_leaving = false;
  thread.cpu_s = cpu_s;
  if (has_run) {
    thread.idle_ticks = 0;
    count_time(thread, now_s, cpu_s);
    thread.is_waiting = false;
    if (is_wanted(thread) && !thread.is_asked && !has_processor(thread.tid)) ask(thread);
    return;
  }
  ++thread.idle_ticks;
  // It is known only when the thread runs again whether it waited or was ready.
  if (!thread.is_waiting) return;
  thread.seen->waiting[thread.place] += now_s - thread.last_s;
  thread.last_s = now_s;
}

bool StackSampler::is_wanted(const Thread& thread) const {
  return is_idle_wanted_ || thread.is_main;
}

// Counts the thread's time until now. `cpu_s`: its clock now.
void StackSampler::count_time(Thread& thread, double now_s, double cpu_s) {
  const double ran_s = cpu_s - std::exchange(thread.last_cpu_s, cpu_s);
  thread.seen->ran_s += ran_s;
  if (!is_wanted(thread)) return;
  const double ready_s = count_ready(thread);
  const double waited_s = now_s - std::exchange(thread.last_s, now_s) - ran_s - ready_s;
  if (waited_s < 0 && thread.is_waiting) {
    // A part of the counted wait was a wait for a processor.
    thread.seen->waiting[thread.place] += waited_s;
  } else {
    thread.waited_s += std::max(0.0, waited_s);
  }
}

// Reads a file. For threads whose waits are not wanted this is done once, at the end.
double StackSampler::count_ready(Thread& thread) {
  const double all_s = thread_ready_s(thread.tid).value_or(thread.last_ready_s);
  const double ready_s = all_s - std::exchange(thread.last_ready_s, all_s);
  thread.seen->ready_s += ready_s;
  return ready_s;
}

void StackSampler::ask(Thread& thread) {
  slots_[thread.slot + 1].done = false;
  thread.ticks_for_lua = 0;
  thread.is_asked = interrupt_thread(thread.tid, static_cast<int>(thread.slot + 1));
  thread.has_ended = !thread.is_asked;
}

// Whether the sample is complete. If not `is_patient`, it is used without Lua lines that are late.
bool StackSampler::is_complete(SampleSlot& slot, bool is_patient) {
  if (!slot.done.load(std::memory_order_acquire)) return false;
  if (slot.waits_for_lua && !slot.lua.done.load(std::memory_order_acquire)) {
    if (is_patient) return false;
    // The hook has cleared `wanted` just now: it is about to write.
    if (!slot.lua.wanted.exchange(false)) return false;
  }
  handlers_s_ += slot.cost_s + (slot.waits_for_lua ? slot.lua.cost_s : 0);
  return true;
}

// Takes the timer's sample, if there is one, and sets the timer for the next one.
void StackSampler::take_running(Thread& thread, double cpu_s, double interval_s) {
  SampleSlot& slot = slots_[thread.slot];
  if (!slot.done.load(std::memory_order_acquire)) return;
  if (!is_complete(slot, !thread.has_ended && cpu_s - slot.cpu_s < kCpuForLuaS)) return;
  ++samples_;
  thread.seen->running[stack_of(slot)] += 1;
  slot.done = false;
  const double next_s = slot.cpu_s + interval_s;
  thread.timer.set(next_s > cpu_s ? next_s : thread_cpu_s(thread.tid) + kSoonS);
}

// Takes the sample of a wait. A thread that was not in a system call did not wait.
void StackSampler::take_waiting(Thread& thread) {
  SampleSlot& slot = slots_[thread.slot + 1];
  const bool is_patient = slot.done && slot.waits_for_lua && ++thread.ticks_for_lua < kTicksForLua;
  if (!is_complete(slot, is_patient)) return;
  thread.is_asked = false;
  thread.is_leaving = true;
  thread.answer_cpu_s = slot.cpu_s;
  if (!slot.is_in_system_call) return;
  ++samples_;
  thread.is_waiting = true;
  thread.place = stack_of(slot);
  thread.seen->waiting[thread.place] += std::exchange(thread.waited_s, 0);
}

StackSampler::Stack StackSampler::stack_of(const SampleSlot& slot) {
  Stack out;
  const int num_lua = slot.lua.done ? slot.lua.count : 0;
  for (int i = num_lua - 1; i >= 0; --i) {
    out.push_back(frame_number(lua_key(slot.lua.frames[static_cast<size_t>(i)])));
  }
  if (slot.where == Where::kUnwinder) {
    out.push_back(frame_number(cat(kTextKey, "(an error on its way)")));
    return out;
  }
  for (int i = slot.own - 1; i >= 0; --i) {
    const char kind = slot.where == Where::kLua ? kInterpreterKey : kNativeKey;
    out.push_back(frame_number(address_key(kind, slot.native[static_cast<size_t>(i)])));
  }
  return out;
}

int StackSampler::frame_number(std::string key) {
  const auto [place, is_new] = numbers_.emplace(std::move(key), static_cast<int>(frames_.size()));
  if (is_new) frames_.push_back(place->first);
  return place->second;
}

std::vector<machine::NativeSymbol> StackSampler::symbols() const {
  std::vector<uint64_t> addresses;
  for (const std::string& key : frames_) {
    if (is_address(key)) addresses.push_back(address_of_key(key));
  }
  return machine::native_symbols(addresses);
}

// Adds the shown frames to out.frames. Returns the index there for each of frames_; -1: not shown.
std::vector<int> StackSampler::name_frames(profile::SampledStacks& out) const {
  const std::vector<machine::NativeSymbol> symbols = this->symbols();
  std::map<std::tuple<std::string, std::string, int64_t>, int> places;
  const auto place_of = [&](profile::StackFrame frame) {
    if (frame.name.empty() && frame.line == 0) return -1;
    const auto [place, is_new] = places.emplace(std::tuple(frame.name, frame.file, frame.line),
                                                static_cast<int>(out.frames.size()));
    if (is_new) out.frames.push_back(std::move(frame));
    return place->second;
  };
  std::vector<int> shown;
  size_t next_symbol = 0;
  for (const std::string& key : frames_) {
    shown.push_back(place_of(is_address(key)     ? native_frame(key, symbols[next_symbol++])
                             : key[0] == kLuaKey ? lua_frame(key)
                                                 : profile::StackFrame{.name = key.substr(1)}));
  }
  return shown;
}

// Takes the thread's last samples and counts the rest of its time.
void StackSampler::close(Thread& thread) {
  const double cpu_s = thread_cpu_s(thread.tid);
  if (cpu_s < 0) return;
  take_running(thread, cpu_s, kNeverS);
  if (thread.is_asked) take_waiting(thread);
  count_time(thread, clock_s(CLOCK_MONOTONIC), cpu_s);
  if (!is_wanted(thread)) {
    count_ready(thread);
    return;
  }
  if (thread.is_waiting || thread.waited_s > kWorthTellingS) {
    thread.seen->waiting[thread.place] += thread.waited_s;
  }
}

profile::SampledStacks StackSampler::finish() {
  for (auto& [tid, thread] : threads_) close(thread);
  threads_.clear();
  profile::SampledStacks out;
  const std::vector<int> shown = name_frames(out);
  const int waiting = static_cast<int>(out.frames.size());
  out.frames.push_back({.name = std::string(profile::kWaiting)});
  const int no_processor = static_cast<int>(out.frames.size());
  out.frames.push_back({.name = std::string(profile::kNoProcessor)});
  // Equal native frames that follow each other (recursion, libraries without symbols) become one.
  const auto folded = [&](const Stack& stack) {
    Stack kept;
    for (const int number : stack) {
      const int frame = shown[static_cast<size_t>(number)];
      if (frame < 0) continue;
      const bool is_lua = out.frames[static_cast<size_t>(frame)].line > 0;
      if (is_lua || kept.empty() || kept.back() != frame) kept.push_back(frame);
    }
    return kept;
  };
  for (const auto& [name, seen] : seen_) {
    std::map<Stack, double> merged;
    int64_t samples = 0;
    for (const auto& [stack, count] : seen.running) samples += count;
    for (const auto& [stack, count] : seen.running) {
      merged[folded(stack)] +=
          seen.ran_s * static_cast<double>(count) / static_cast<double>(samples);
    }
    if (!merged.empty() || !seen.waiting.empty()) {
      if (seen.ready_s > kWorthTellingS) merged[{no_processor}] += seen.ready_s;
    }
    for (const auto& [stack, seconds] : seen.waiting) {
      Stack kept = folded(stack);
      kept.push_back(waiting);
      if (seconds > 0) merged[kept] += seconds;
    }
    if (merged.empty()) continue;
    profile::ThreadStacks thread{.name = name, .stacks = {}};
    for (const auto& [stack, seconds] : merged) {
      thread.stacks.push_back({.frames = stack, .seconds = seconds});
    }
    out.threads.push_back(std::move(thread));
  }
  std::stable_partition(out.threads.begin(), out.threads.end(),
                        [](const profile::ThreadStacks& thread) { return thread.name == "main"; });
  return out;
}

}  // namespace rtrain::worker
