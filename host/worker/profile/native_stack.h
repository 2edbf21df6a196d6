// host/worker/profile/native_stack.h: where the threads of this process are in native code.
//
// A thread is interrupted by a signal and writes down its own frames; nothing is stopped and no
// debugger is needed. Threads that wait in the kernel without taking signals are left out.
#pragma once

#include <string>
#include <vector>

#include "host/loop/messages/to_controller.h"
#include "host/pages/progress_page.h"

namespace rtrain::worker {

// Prepares the process; main thread, before any other thread.
void install_stack_signal();

// Interrupts every thread but the calling one. `on_main_thread` is called by the signal handler on
// the main thread: it may do only what such a handler may.
std::vector<loop::ThreadStack> native_stacks(void (*on_main_thread)());

// What a sampler does on a thread that interrupt_thread() has interrupted, or a timer by the same
// signal, with the value given there and the handler's ucontext_t. In the signal handler: it may do
// only what such a handler may.
using SampleHandler = void (*)(int value, void* context);
void set_sample_handler(SampleHandler handler);  // null: nothing
int stack_signal();
// False where the thread has ended.
bool interrupt_thread(int tid, int value);

// Those of this process but the calling one, sorted.
std::vector<int> other_threads();
// "" where it has ended.
std::string thread_name(int tid);

// Both for a signal handler. The frames of what it has interrupted, from the instruction where that
// was on; 0 where the unwinder gives up.
int interrupted_frames(void** out, int size, const void* context);
// Calls the function, which only reads; false where that faulted.
bool read_safely(void (*read)(void*), void* data);

// For the handler of a fatal signal, first thing: does not return when it is the unwinder that has
// given up on this thread. It aborts at frames of compiled Lua code that it cannot read.
void leave_unwinder();

// The calling thread's own frames, for a signal handler: without the handler's.
int native_frames(std::array<pages::NativeFrame, pages::kNativeFrames>& out, int skip);

}  // namespace rtrain::worker
