// host/engine/runtime/loader_thread.h: which threads must leave the default generator alone.
//
// It belongs to the process: threads that draw from it would make the data, and the training
// thread's dropout, depend on their timing. So what draws from it, or seeds it, is an error there.
#pragma once

#include <string_view>

namespace rtrain {

// Marks the calling thread while it lives.
class LoaderThread {
 public:
  LoaderThread();
  ~LoaderThread();
  LoaderThread(const LoaderThread&) = delete;
  LoaderThread& operator=(const LoaderThread&) = delete;
};

bool in_loader_thread();

// Throws Error(kArgument) in a loader thread: `function` changes the default generator.
void refuse_in_loader_thread(std::string_view function);

}  // namespace rtrain
