#include "host/worker/profile/sample_slot.h"

#include <link.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>

#include "host/worker/profile/native_stack.h"
#include "host/worker/profile/thread_clock.h"

// NOLINTBEGIN(readability-identifier-naming, bugprone-reserved-identifier): names of others.
// Marks in LuaJIT's interpreter, in the order of their addresses.
extern "C" {
extern const char lj_vm_asm_begin[];
extern const char lj_BC_FUNCC[];     // this and lj_BC_FUNCCW call a C function
extern const char lj_vm_returnp[];   // the code after these two
extern const char lj_vm_ffi_call[];  // the last code
}
// NOLINTEND(readability-identifier-naming, bugprone-reserved-identifier)

namespace rtrain::worker {
namespace {

using Where = SampleSlot::Where;

// The words of the stack above an interrupted frame that are searched for the unwinder's addresses.
constexpr size_t kScannedWords = 256;

std::array<SampleSlot, kMaxSampleSlots>* slots = nullptr;

// The addresses of the library that unwinds stacks. It holds a lock while it does.
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

bool is_unwinding(const ucontext_t& context) {
  const auto& registers = context.uc_mcontext.gregs;
  if (unwinder.has(static_cast<uintptr_t>(registers[REG_RIP]))) return true;
  const auto* words = reinterpret_cast<const uintptr_t*>(registers[REG_RSP]);
  return std::any_of(words, words + kScannedWords,
                     [](uintptr_t word) { return unwinder.has(word); });
}

// The thread is at the instruction, or after it where the call is not repeated.
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
    // The unwinder finds no frames below compiled code. A longer stack has been cut.
    slot.where = slot.count <= 1 ? Where::kLua : Where::kNative;
    return;
  }
  // Directly below a coroutine's frame of the interpreter there is another such frame.
  const bool is_coroutine = vm + 1 != end && is_in_interpreter(*(vm + 1));
  slot.where = vm != begin && calls_function(*vm) && !is_coroutine ? Where::kFunction : Where::kLua;
}

void write_native(SampleSlot& slot, const ucontext_t& context) {
  std::array<void*, SampleSlot::kMaxNative> frames{};
  const int count = interrupted_frames(frames.data(), SampleSlot::kMaxNative, &context);
  for (int i = 0; i < count; ++i) {
    // A return address may be after the end of its function.
    const auto address = reinterpret_cast<uintptr_t>(frames[static_cast<size_t>(i)]);
    slot.native[static_cast<size_t>(i)] = i == 0 ? address : address - 1;
  }
  slot.count = std::max(count, 1);
  find_place(slot);
}

void write_lua(SampleSlot& slot) {
  if (slot.where == Where::kFunction) {
    const bool was_read =
        read_safely([](void* lua) { write_frames(*static_cast<LuaStack*>(lua)); }, &slot.lua);
    if (!was_read) slot.lua.count = 0;
  } else if (slot.where == Where::kLua) {
    slot.lua.wanted = true;
    slot.waits_for_lua = write_at_next_instruction(slot.lua);
  }
}

void write_stack(SampleSlot& slot, const ucontext_t& context) {
  const auto pc = static_cast<uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
  slot.native[0] = pc;
  slot.count = 1;
  slot.own = 1;
  slot.where = Where::kNative;
  slot.waits_for_lua = false;
  slot.lua.count = 0;
  slot.lua.cost_s = 0;
  slot.lua.done.store(false, std::memory_order_relaxed);
  slot.is_in_system_call = is_system_call(pc);
  if (slot.is_for_waits && !slot.is_in_system_call) return;
  if (is_unwinding(context)) {
    slot.where = Where::kUnwinder;
    return;
  }
  write_native(slot, context);
  write_lua(slot);
}

}  // namespace

std::span<SampleSlot, kMaxSampleSlots> sample_slots() {
  static auto* const made = new std::array<SampleSlot, kMaxSampleSlots>();
  slots = made;
  if (unwinder.to == 0) dl_iterate_phdr(&find_unwinder, nullptr);
  return *made;
}

void write_sample(int value, void* context) {
  if (value < 0 || value >= static_cast<int>(kMaxSampleSlots)) return;
  const double begun_s = clock_s(CLOCK_THREAD_CPUTIME_ID);
  SampleSlot& slot = (*slots)[static_cast<size_t>(value)];
  write_stack(slot, *static_cast<const ucontext_t*>(context));
  slot.cpu_s = clock_s(CLOCK_THREAD_CPUTIME_ID);
  slot.cost_s = slot.cpu_s - begun_s;
  slot.done.store(true, std::memory_order_release);
}

}  // namespace rtrain::worker
