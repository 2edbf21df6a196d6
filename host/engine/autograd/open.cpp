#include "host/engine/runtime/open.h"
#include "host/engine/autograd/autograd.h"
#include "host/engine/autograd/lua_engine.h"

namespace rtrain::engine {

void open_autograd(lua_State* L) {
  install_lua_engine();
  register_hook_class(L);
  for (const auto& functions :
       {backward_functions(), boundary_functions(), hook_functions(), grad_mode_functions(),
        function_functions(), anomaly_functions(), loss_watch_functions(),
        saved_tensors_functions(), transforms_functions()}) {
    lua::add_functions(L, functions);
  }
}

}  // namespace rtrain::engine
