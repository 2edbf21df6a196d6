// host/engine/runtime/loader_thread.h: marks threads that must not use the default generator.
//
// The process has one default generator. If threads of loaders drew from it, the data and the
// training thread's dropout would depend on timing. So drawing from it or seeding it is an error
// there.
#pragma once

#include <string_view>

namespace rtrain::engine {

// While it exists, the calling thread is marked.
class LoaderThread {
 public:
  LoaderThread();
  ~LoaderThread();
  LoaderThread(const LoaderThread&) = delete;
  LoaderThread& operator=(const LoaderThread&) = delete;
};

bool in_loader_thread();

// Throws Error(kArgument) in a loader thread. `function` is one that uses the default generator.
void refuse_in_loader_thread(std::string_view function);

}  // namespace rtrain::engine
