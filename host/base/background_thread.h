// host/base/background_thread.h: threads that work alongside the training, on processors that the
// ranks leave idle, with lower priority.
#pragma once

#include <sys/types.h>

namespace rtrain {

// Lets background threads of this process use the parent's processors, because a rank may be bound
// to some of them.
void use_processors_of(pid_t parent);

// Makes the calling thread, and threads that it starts later, a background thread.
void enter_background();

}  // namespace rtrain
