#include "host/bind/modules.h"

#include "host/bind/closure.h"
#include "host/bind/controller.h"
#include "host/bind/elastic.h"
#include "host/bind/host.h"
#include "host/bind/ingest.h"
#include "host/bind/local_worker.h"
#include "host/bind/program.h"
#include "host/bind/services.h"
#include "host/bind/system.h"
#include "host/bind/tune.h"
#include "host/bind/worker.h"
#include "host/lua/guard.h"
#include "host/lua/libraries/arrow_loader.h"
#include "host/lua/libraries/engine_loader.h"

namespace rtrain {
namespace {

int open_engine_module(lua_State* L) { return open_engine(L, &host_api()); }

}  // namespace

void add_host_modules(State& state) {
  state.preload("torch._C", &guarded<&open_engine_module>);
  state.preload("base._arrow", &guarded<&open_arrow>);
  state.preload("rtrain._host", &guarded<&open_host>);
  state.preload("base._closure", &guarded<&open_closure>);
  state.preload("rtrain._controller", &guarded<&open_controller>);
  state.preload("rtrain._worker", &guarded<&open_worker>);
  state.preload("rtrain._elastic", &guarded<&open_elastic>);
  state.preload("rtrain._ingest", &guarded<&open_ingest>);
  state.preload("rtrain._local", &guarded<&open_local>);
  state.preload("rtrain._tune", &guarded<&open_tune>);
  state.preload("rtrain._program", &guarded<&open_program>);
  state.preload("base._system", &guarded<&open_system>);
}

}  // namespace rtrain
