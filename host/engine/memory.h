// host/engine/memory.h: makes Lua's collector see tensor memory.
//
// Lua counts a tensor as eight bytes, so garbage tensors would pile up. A counting allocator (the
// process's CPU allocator) sums live bytes and, for each thread, bytes allocated since the last
// collection; push_tensor pays that debt with collector steps, and with a full collection once live
// bytes pass a ceiling, which follows the live bytes up and down. Nothing is collected inside the
// allocator.
#pragma once

#include <cstdint>

#include "host/engine/vm.h"

namespace rtrain {

// Installs the allocator. First call of the process; later ones do nothing.
void install_allocator();

inline constexpr int64_t kDebtBytes = int64_t{16} << 20;
extern thread_local constinit int64_t thread_debt_bytes;

void pay_debt(Vm& vm, lua_State* L);

// Called after a tensor was pushed.
inline void after_push(Vm& vm, lua_State* L) {
  if (thread_debt_bytes >= kDebtBytes) pay_debt(vm, L);
}

// Frees everything that can be freed, before an operation that ran out of memory is tried again.
void collect_all(Vm& vm, lua_State* L);

}  // namespace rtrain
