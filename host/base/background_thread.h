// host/base/background_thread.h: threads that work alongside the training: they take the processors
// that the ranks leave idle, and give way to them.
#pragma once

#include <sys/types.h>

namespace rtrain {

// Background threads of this process may use the processors of that one: a rank may be bound to
// some of them.
void use_processors_of(pid_t parent);

// The calling thread is one from now on. The threads that it starts are too.
void enter_background();

}  // namespace rtrain
