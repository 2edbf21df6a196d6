#include "host/cli/train/repl_object.h"

#include "host/bind/modules.h"
#include "host/cli/processes/leave.h"
#include "host/lua/compiled_hooks.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/lua/require.h"
#include "host/lua/unset_globals.h"
#include "host/store/files/file.h"

namespace rtrain::cli {

ReplObject::ReplObject(const char* module, const Map& options, int (*push_more)(lua_State* L)) {
  bind::add_host_modules(state_);
  replace_os_exit(state_, /*may_close=*/true);
  const std::string folder = store::absolute_path(".");
  lua::add_script_folder(state_, folder);
  lua::push_module(state_, module);
  Map all = options;
  all.set("folder", folder);
  all.set("can_stop_loops", lua::hooks_reach_compiled_code());
  lua::push_value(state_, all);
  const int more = push_more != nullptr ? push_more(state_) : 0;
  lua::protected_call(state_, 1 + more, 1);
  object_ = lua::Ref(state_);
}

void ReplObject::push_method(const char* name) {
  object_.push(state_);
  lua_getfield(state_, -1, name);
  lua_insert(state_, -2);
}

void ReplObject::run() {
  if (lua_isfunction(state_, -1)) lua::refuse_python_constants(state_);
  lua_pop(state_, 1);
  lua::protected_call(state_, 0, 0);
}

}  // namespace rtrain::cli
