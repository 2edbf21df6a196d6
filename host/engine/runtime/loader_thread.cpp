#include "host/engine/runtime/loader_thread.h"

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::engine {
namespace {

thread_local bool is_loader_thread = false;

}  // namespace

LoaderThread::LoaderThread() { is_loader_thread = true; }
LoaderThread::~LoaderThread() { is_loader_thread = false; }

bool in_loader_thread() { return is_loader_thread; }

void refuse_in_loader_thread(std::string_view function) {
  if (!is_loader_thread) return;
  throw Error(Code::kArgument,
              cat(function,
                  ": a loader thread cannot use the default generator, which all threads of the "
                  "process share: pass {generator = torch.utils.data.sample_generator()}"));
}

}  // namespace rtrain::engine
