#include "host/bind/modules.h"

#include "host/bind/closure.h"
#include "host/bind/controller.h"
#include "host/bind/elastic.h"
#include "host/bind/host.h"
#include "host/bind/ingest.h"
#include "host/bind/local_worker.h"
#include "host/bind/program.h"
#include "host/bind/services.h"
#include "host/bind/sqlite.h"
#include "host/bind/system.h"
#include "host/bind/text.h"
#include "host/bind/track.h"
#include "host/bind/tune.h"
#include "host/bind/worker.h"
#include "host/lua/guard.h"
#include "host/lua/libraries/arrow_loader.h"
#include "host/lua/libraries/engine_loader.h"

namespace rtrain::bind {
namespace {

int open_engine_module(lua_State* L) { return lua::open_engine(L, &host_api()); }

}  // namespace

void add_host_modules(lua::State& state) {
  state.preload("torch._C", &lua::guarded<&open_engine_module>);
  state.preload("base._arrow", &lua::guarded<&lua::open_arrow>);
  state.preload("rtrain._host", &lua::guarded<&open_host>);
  state.preload("base._closure", &lua::guarded<&open_closure>);
  state.preload("rtrain._controller", &lua::guarded<&open_controller>);
  state.preload("rtrain._worker", &lua::guarded<&open_worker>);
  state.preload("rtrain._elastic", &lua::guarded<&open_elastic>);
  state.preload("rtrain._ingest", &lua::guarded<&open_ingest>);
  state.preload("rtrain._local", &lua::guarded<&open_local>);
  state.preload("rtrain._track", &lua::guarded<&open_track>);
  state.preload("rtrain._tune", &lua::guarded<&open_tune>);
  state.preload("rtrain._program", &lua::guarded<&open_program>);
  state.preload("base._system", &lua::guarded<&open_system>);
  state.preload("base._sqlite", &lua::guarded<&open_sqlite>);
  state.preload("text._C", &lua::guarded<&open_text>);
}

}  // namespace rtrain::bind
