// rtrain --ingest NUMBER PARENT_PID: makes blocks of rows for a rank (modules/rtrain/data/ingest).
#include <fcntl.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>

#include "host/bind/modules.h"
#include "host/cli/command.h"
#include "host/loop/process.h"
#include "host/loop/worker_descriptors.h"
#include "host/lua/engine_loader.h"
#include "host/lua/guard.h"
#include "host/lua/require.h"
#include "host/lua/state.h"

namespace rtrain {
namespace {

int report(int number, const Error& error) {
  std::fprintf(stderr, "rtrain: ingest worker %d: %s\n", number, error.what());
  return exit_code(error.code());
}

void run() {
  State state;
  add_host_modules(state);
  push_module_function(state, "rtrain.data.ingest.maker", "main");
  lua_pushinteger(state, kChannelFd);
  protected_call(state, 1, 0);
}

}  // namespace

int run_ingest(int number, int parent_pid) {
  struct stat info {};
  if (fstat(kChannelFd, &info) != 0 || !S_ISSOCK(info.st_mode)) {
    std::fputs("rtrain: an ingest worker is started by its rank alone\n", stderr);
    return exit_code(Code::kUsage);
  }
  die_with_parent(parent_pid);
  // What a function of the user starts must not hold the channel open when this process is gone.
  fcntl(kChannelFd, F_SETFD, FD_CLOEXEC);
  take_engine_file(kEngineFd);
  int code = 0;
  try {
    run();
  } catch (const Error& e) {
    code = report(number, e);
  } catch (const std::exception& e) {
    code = report(number, HostTranslate::from(e));
  }
  // Threads of the engine may be at work: no destructors.
  std::fflush(nullptr);
  std::_Exit(code);
}

}  // namespace rtrain
