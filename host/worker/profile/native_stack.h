// host/worker/profile/native_stack.h: the native stacks of the threads of this process.
//
// A signal interrupts a thread, and its handler writes the thread's own frames. So no thread is
// stopped and no debugger is needed. Threads that take no signals in the kernel are left out.
#pragma once

#include <string>
#include <vector>

#include "host/loop/messages/to_controller.h"
#include "host/pages/progress_page.h"

namespace rtrain::worker {

// Installs the signal's handler. Main thread, before there is another one.
void install_stack_signal();

// Returns the stacks of all threads but the calling one. On the main thread the signal handler also
// calls `on_main_thread`, which may do only what a signal handler may.
std::vector<loop::ThreadStack> native_stacks(void (*on_main_thread)());

// A sampler's function for a thread that interrupt_thread(), or a timer with the same signal, has
// interrupted. It gets their value and the handler's ucontext_t. It runs in the signal handler, and
// may do only what a signal handler may.
using SampleHandler = void (*)(int value, void* context);
void set_sample_handler(SampleHandler handler);  // null: no function is called
int stack_signal();
// Interrupts the thread. Returns false where it has ended.
bool interrupt_thread(int tid, int value);

// The threads of this process except the calling one, sorted.
std::vector<int> other_threads();
// The name of the thread; "" where it has ended.
std::string thread_name(int tid);

// Both are for a signal handler. Writes the frames of the interrupted code, beginning with the
// interrupted instruction. Returns their number; 0 where the unwinder gives up.
int interrupted_frames(void** out, int size, const void* context);
// Calls a function that only reads memory. Returns false where it has caused a fault.
bool read_safely(void (*read)(void*), void* data);

// The handler of a fatal signal calls it first. It does not return when the signal comes from the
// unwinder, which aborts at frames of compiled Lua code that it cannot read.
void leave_unwinder();

// For a signal handler: the calling thread's frames without the first `skip`, and their number.
int native_frames(std::array<pages::NativeFrame, pages::kNativeFrames>& out, int skip);

}  // namespace rtrain::worker
