// host/machine/processes/full_stack.h: the message when the main thread's stack is full.
//
// Lua notices an endless recursion of its own functions. But a recursion that passes through C each
// time (string.gsub with a function, a coroutine that makes the next one) first fills the thread's
// stack, and then the kernel sends SIGSEGV.
#pragma once

namespace rtrain::machine {

// The message for the main thread's full stack. A signal handler may call it.
const char* full_stack_reason();

// Remembers where the stack of the calling thread ends, which must be the main thread.
void note_stack_end();

// Whether a fault at that address means that this stack is full. A signal handler may call it.
bool is_at_stack_end(const void* address);

// From here on a full stack of the main thread ends the process with one line on stderr and the
// exit code of an error in a script. Every other SIGSEGV acts as before. Thread: main.
void explain_full_stack();

}  // namespace rtrain::machine
