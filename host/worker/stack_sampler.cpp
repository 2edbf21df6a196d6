#include "host/worker/stack_sampler.h"

#include <link.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string_view>
#include <utility>

#include "host/base/text.h"
#include "host/machine/native_frame.h"
#include "host/worker/lua_stack.h"
#include "host/worker/native_stack.h"

// NOLINTBEGIN(readability-identifier-naming, bugprone-reserved-identifier): names of others.
// Marks in LuaJIT's interpreter, in the order of their addresses.
extern "C" {
extern const char lj_vm_asm_begin[];
extern const char lj_BC_FUNCC[];     // with lj_BC_FUNCCW: calls a C function
extern const char lj_vm_returnp[];   // behind them
extern const char lj_vm_ffi_call[];  // the last one
}

// Finds the code that unwinds an address. As a side effect it reads what compiled code has been
// registered with it since, which a signal handler should not be the first to do: that allocates.
extern "C" void* _Unwind_Find_FDE(void* pc, void* bases);
// NOLINTEND(readability-identifier-naming, bugprone-reserved-identifier)

namespace rtrain {
namespace {

constexpr size_t kMaxThreads = 128;
constexpr int kMaxNative = 96;
constexpr int64_t kTicksBetweenLists = 16;
constexpr int kTicksForLua = 3;
// A thread that has slept for so long is looked at less often.
constexpr int kIdleTicks = 8;
constexpr int64_t kTicksBetweenLooks = 4;
// Without the processor.
constexpr double kWorthTelling = 1e-3;
// A thread that runs answers sooner.
constexpr double kPrompt = 1e-3;
// What a thread may take on its way out of the signal: it has not run because of it.
constexpr double kLeavingS = 50e-6;
// Above an interrupted frame: what is looked at for the unwinder's return addresses.
constexpr size_t kScannedWords = 256;
constexpr char kLuaKey = 'L';
constexpr char kNativeKey = 'N';
constexpr char kInterpreterKey = 'I';  // an address of LuaJIT's, or of compiled code
constexpr char kTextKey = 'T';

double seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double clock_s(clockid_t clock) {
  timespec now{};
  return clock_gettime(clock, &now) == 0 ? seconds(now) : -1;
}

// Of a thread of this process, by the kernel's encoding; -1 where it has ended.
double thread_cpu_s(int tid) {
  constexpr unsigned kPerThreadScheduled = 6;
  return clock_s(static_cast<clockid_t>((~static_cast<unsigned>(tid) << 3U) | kPerThreadScheduled));
}

enum class Where : uint8_t {
  kNative,    // no Lua is below, or it is not known
  kFunction,  // in a C function that Lua has called
  kLua,       // in the interpreter, its helpers or compiled code
  kUnwinder,
};

// The range of the library that unwinds stacks, which holds a lock meanwhile.
struct Range {
  uintptr_t from = 0;
  uintptr_t to = 0;
  bool has(uintptr_t address) const { return address >= from && address < to; }
};
Range unwinder;

int find_unwinder(dl_phdr_info* info, size_t, void*) {
  if (std::strstr(info->dlpi_name, "libgcc_s") == nullptr) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    unwinder = {info->dlpi_addr + header.p_vaddr,
                info->dlpi_addr + header.p_vaddr + header.p_memsz};
  }
  return 1;
}

uintptr_t address_of(const char* symbol) { return reinterpret_cast<uintptr_t>(symbol); }

bool is_in_interpreter(uintptr_t address) {
  return address >= address_of(lj_vm_asm_begin) && address < address_of(lj_vm_ffi_call);
}

bool calls_function(uintptr_t address) {
  return address >= address_of(lj_BC_FUNCC) && address < address_of(lj_vm_returnp);
}

}  // namespace

// What a handler writes on its thread and the sampler reads once `done`.
struct SampleSlot {
  std::atomic<bool> done{false};
  Where where = Where::kNative;
  bool is_in_system_call = false;
  bool waits_for_lua = false;  // until lua.done
  int count = 0;               // of native frames, the innermost first
  int own = 0;                 // of these: above the frame of the interpreter
  int64_t num_sleeps = 0;
  double time_s = 0;
  double cpu_s = 0;  // of the thread, after it
  double cost_s = 0;
  std::array<uintptr_t, kMaxNative> native{};
  LuaStack lua;
};

namespace {

// Made by the first sampler and never freed: a hook may still be about to write there.
std::array<SampleSlot, kMaxThreads>* slots = nullptr;

bool is_unwinding(const ucontext_t& context) {
  const auto& registers = context.uc_mcontext.gregs;
  if (unwinder.has(static_cast<uintptr_t>(registers[REG_RIP]))) return true;
  const auto* words = reinterpret_cast<const uintptr_t*>(registers[REG_RSP]);
  return std::any_of(words, words + kScannedWords,
                     [](uintptr_t word) { return unwinder.has(word); });
}

// At the instruction, or behind it where the call is not made again.
bool is_system_call(uintptr_t pc) {
  const auto is_one = [](const unsigned char* code) { return code[0] == 0x0f && code[1] == 0x05; };
  const auto* code = reinterpret_cast<const unsigned char*>(pc);
  return is_one(code) || is_one(code - 2);
}

void find_place(SampleSlot& slot) {
  const auto begin = slot.native.begin();
  const auto end = begin + slot.count;
  const auto vm = std::find_if(begin, end, &is_in_interpreter);
  slot.own = static_cast<int>(vm - begin);
  if (vm == end) {
    // A stack without an end has been cut; compiled code gives none.
    slot.where = slot.count <= 1 ? Where::kLua : Where::kNative;
    return;
  }
  // A coroutine has a frame of the interpreter's directly below its own.
  const bool is_coroutine = vm + 1 != end && is_in_interpreter(*(vm + 1));
  slot.where = vm != begin && calls_function(*vm) && !is_coroutine ? Where::kFunction : Where::kLua;
}

void write_sample(SampleSlot& slot, const ucontext_t& context) {
  const auto pc = static_cast<uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
  slot.native[0] = pc;
  slot.count = 1;
  slot.own = 1;
  slot.is_in_system_call = is_system_call(pc);
  if (is_unwinding(context)) {
    slot.where = Where::kUnwinder;
    return;
  }
  std::array<void*, kMaxNative> frames{};
  const int count = interrupted_frames(frames.data(), kMaxNative, &context);
  for (int i = 0; i < count; ++i) {
    // A return address may lie behind its function's end.
    const auto address = reinterpret_cast<uintptr_t>(frames[static_cast<size_t>(i)]);
    slot.native[static_cast<size_t>(i)] = i == 0 ? address : address - 1;
  }
  slot.count = std::max(count, 1);
  find_place(slot);
}

void on_sample(int value, void* context) {
  if (value < 0 || value >= static_cast<int>(kMaxThreads)) return;
  const double begun_s = clock_s(CLOCK_THREAD_CPUTIME_ID);
  SampleSlot& slot = (*slots)[static_cast<size_t>(value)];
  write_sample(slot, *static_cast<const ucontext_t*>(context));
  slot.lua.count = 0;
  slot.lua.cost_s = 0;
  slot.lua.done.store(false, std::memory_order_relaxed);
  slot.waits_for_lua = false;
  if (slot.where == Where::kFunction) {
    const bool was_read =
        read_safely([](void* lua) { write_frames(*static_cast<LuaStack*>(lua)); }, &slot.lua);
    if (!was_read) slot.lua.count = 0;
  } else if (slot.where == Where::kLua) {
    slot.lua.wanted = true;
    slot.waits_for_lua = write_at_next_instruction(slot.lua);
  }
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  slot.num_sleeps = usage.ru_nvcsw;
  slot.time_s = clock_s(CLOCK_MONOTONIC);
  slot.cpu_s = clock_s(CLOCK_THREAD_CPUTIME_ID);
  slot.cost_s = slot.cpu_s - begun_s;
  slot.done.store(true, std::memory_order_release);
}

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

// Without a name where nothing is shown of it.
StackFrame native_frame(std::string_view key, const NativeSymbol& symbol) {
  const bool is_compiled = key[0] == kInterpreterKey && symbol.module.empty();
  return {.name = is_compiled ? "" : shown_function(symbol.function, symbol.module),
          .file = symbol.module};
}

StackFrame lua_frame(std::string_view key) {
  const std::vector<std::string> parts = split(key.substr(1), '\n');
  return {.name = parts.at(0), .file = parts.at(1), .line = std::atoll(parts.at(2).c_str())};
}

}  // namespace

// Where threads of one name were. How long they ran is what their clocks say; the samples say
// where.
struct StackSampler::Seen {
  double ran_s = 0;
  double ready_s = 0;                // could have run, and others had the processors
  std::map<Stack, int64_t> running;  // samples
  std::map<Stack, double> waiting;   // seconds
};

struct StackSampler::Thread {
  int tid = 0;
  int slot = 0;
  Seen* seen = nullptr;
  bool is_main = false;
  bool is_asked = false;
  bool is_leaving = false;  // it has answered since its clock was last read
  bool has_ended = false;
  bool is_waiting = true;  // where it was last
  int ticks_for_lua = 0;
  int idle_ticks = 0;  // since it has last run
  int64_t num_sleeps = 0;
  double asked_s = 0;
  double last_s = 0;      // until then its time is counted
  double last_cpu_s = 0;  // of its clock, then
  double cpu_s = -1;      // of its clock, when it was last read
  double answer_cpu_s = 0;
  Stack last = {};  // where it was then
};

StackSampler::StackSampler(bool is_idle_wanted)
    : is_idle_wanted_(is_idle_wanted),
      begun_own_s_(clock_s(CLOCK_THREAD_CPUTIME_ID)),
      begun_process_s_(clock_s(CLOCK_PROCESS_CPUTIME_ID)) {
  static auto* const made = new std::array<SampleSlot, kMaxThreads>();
  slots = made;
  if (unwinder.to == 0) dl_iterate_phdr(&find_unwinder, nullptr);
  for (int slot = 0; slot < static_cast<int>(kMaxThreads); ++slot) free_slots_.push_back(slot);
  set_sample_handler(&on_sample);
}

StackSampler::~StackSampler() {
  set_sample_handler(nullptr);
  for (SampleSlot& slot : *slots) slot.lua.wanted = false;
}

SamplingCost StackSampler::cost() const {
  return {.own_s = clock_s(CLOCK_THREAD_CPUTIME_ID) - begun_own_s_ + handlers_s_,
          .process_s = clock_s(CLOCK_PROCESS_CPUTIME_ID) - begun_process_s_};
}

void StackSampler::list_threads(double now_s) {
  for (const int tid : other_threads()) {
    if (free_slots_.empty()) return;
    if (threads_.count(tid) != 0) continue;
    const bool is_main = tid == getpid();
    const std::string name = is_main ? "main" : thread_name(tid);
    if (name.empty()) continue;
    threads_.emplace(tid, Thread{.tid = tid,
                                 .slot = free_slots_.back(),
                                 .seen = &seen_[name],
                                 .is_main = is_main,
                                 .last_s = now_s,
                                 .last_cpu_s = std::max(0.0, thread_cpu_s(tid))});
    free_slots_.pop_back();
  }
}

void StackSampler::tick(double now_s) {
  std::array<void*, 4> bases{};
  _Unwind_Find_FDE(reinterpret_cast<void*>(&lua_key), bases.data());
  // A thread has a folder there.
  struct stat folder {};
  const bool has_changed =
      stat("/proc/self/task", &folder) == 0 && std::exchange(links_, folder.st_nlink) != links_;
  if (has_changed || ticks_ % kTicksBetweenLists == 0) list_threads(now_s);
  ++ticks_;
  for (auto place = threads_.begin(); place != threads_.end();) {
    Thread& thread = place->second;
    look(thread, now_s);
    if (thread.has_ended) free_slots_.push_back(thread.slot);
    place = thread.has_ended ? threads_.erase(place) : std::next(place);
  }
}

void StackSampler::look(Thread& thread, double now_s) {
  if (thread.idle_ticks >= kIdleTicks && (ticks_ + thread.slot) % kTicksBetweenLooks != 0) return;
  const double cpu_s = thread_cpu_s(thread.tid);
  thread.has_ended = cpu_s < 0;
  if (thread.is_asked && !take(thread)) return;
  if (thread.has_ended) return;
  const bool has_run =
      thread.is_leaving ? cpu_s - thread.answer_cpu_s > kLeavingS : cpu_s != thread.cpu_s;
  thread.is_leaving = false;
  thread.cpu_s = cpu_s;
  if (has_run) return ask(thread);
  ++thread.idle_ticks;
  const double seconds = now_s - thread.last_s;
  if (thread.is_waiting) {
    add_waiting(thread, seconds);
  } else {
    thread.seen->ready_s += seconds;
  }
  thread.last_s = now_s;
  thread.last_cpu_s = cpu_s;
}

void StackSampler::ask(Thread& thread) {
  SampleSlot& slot = (*slots)[static_cast<size_t>(thread.slot)];
  slot.done = false;
  thread.ticks_for_lua = 0;
  thread.idle_ticks = 0;
  thread.asked_s = clock_s(CLOCK_MONOTONIC);
  thread.is_asked = interrupt_thread(thread.tid, thread.slot);
  thread.has_ended = !thread.is_asked;
}

// False while it has not answered.
bool StackSampler::take(Thread& thread) {
  SampleSlot& slot = (*slots)[static_cast<size_t>(thread.slot)];
  if (!slot.done.load(std::memory_order_acquire)) return false;
  if (slot.waits_for_lua && !slot.lua.done.load(std::memory_order_acquire)) {
    if (++thread.ticks_for_lua < kTicksForLua) return false;
    // Where the hook has begun at this very moment, it is about to write.
    if (!slot.lua.wanted.exchange(false)) return false;
  }
  thread.is_asked = false;
  thread.is_leaving = true;
  thread.answer_cpu_s = slot.cpu_s;
  handlers_s_ += slot.cost_s + (slot.waits_for_lua ? slot.lua.cost_s : 0);
  ++samples_;
  thread.last = stack_of(slot);
  const double seconds = slot.time_s - thread.last_s;
  const double cpu_s = std::clamp(slot.cpu_s - thread.last_cpu_s, 0.0, std::max(0.0, seconds));
  const bool has_slept = std::exchange(thread.num_sleeps, slot.num_sleeps) != slot.num_sleeps;
  thread.is_waiting = has_slept && slot.is_in_system_call;
  thread.seen->ran_s += cpu_s;
  if (thread.is_waiting) {
    add_waiting(thread, seconds - cpu_s);
  } else {
    // One that was not running when it was asked answers where it was put off the processor: mostly
    // in system calls. That does not say where it runs.
    if (slot.time_s - thread.asked_s < kPrompt) thread.seen->running[thread.last] += 1;
    if (!has_slept && seconds - cpu_s > kWorthTelling) thread.seen->ready_s += seconds - cpu_s;
  }
  thread.last_s = slot.time_s;
  thread.last_cpu_s = slot.cpu_s;
  return true;
}

void StackSampler::add_waiting(Thread& thread, double seconds) {
  if (is_idle_wanted_ || thread.is_main) thread.seen->waiting[thread.last] += seconds;
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

std::vector<NativeSymbol> StackSampler::symbols() const {
  std::vector<uint64_t> addresses;
  for (const std::string& key : frames_) {
    if (is_address(key)) addresses.push_back(address_of_key(key));
  }
  return native_symbols(addresses);
}

// What is shown of each of frames_, added to the stacks' frames; -1: nothing.
std::vector<int> StackSampler::name_frames(SampledStacks& out) const {
  const std::vector<NativeSymbol> symbols = this->symbols();
  std::map<std::tuple<std::string, std::string, int64_t>, int> places;
  const auto place_of = [&](StackFrame frame) {
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
                                                 : StackFrame{.name = key.substr(1)}));
  }
  return shown;
}

SampledStacks StackSampler::finish() {
  SampledStacks out;
  const std::vector<int> shown = name_frames(out);
  const int waiting = static_cast<int>(out.frames.size());
  out.frames.push_back({.name = std::string(kWaiting)});
  const int no_processor = static_cast<int>(out.frames.size());
  out.frames.push_back({.name = std::string(kNoProcessor)});
  // Native functions that call themselves, and libraries without names, count once.
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
    if (seen.ready_s > 0) merged[{no_processor}] += seen.ready_s;
    for (const auto& [stack, seconds] : seen.waiting) {
      Stack kept = folded(stack);
      kept.push_back(waiting);
      merged[kept] += seconds;
    }
    if (merged.empty()) continue;
    ThreadStacks thread{.name = name, .stacks = {}};
    for (const auto& [stack, seconds] : merged) {
      thread.stacks.push_back({.frames = stack, .seconds = seconds});
    }
    out.threads.push_back(std::move(thread));
  }
  std::stable_partition(out.threads.begin(), out.threads.end(),
                        [](const ThreadStacks& thread) { return thread.name == "main"; });
  return out;
}

}  // namespace rtrain
