#include "host/engine/runtime/callback.h"

#include "host/lua/main_state.h"

namespace rtrain::engine {

Callback::Callback(lua_State* L)
    : vm_(vm(L)),
      open_(vm_.open),
      main_(lua::main_state(L)),
      function_(std::make_unique<lua::Ref>(L)) {}

Callback::~Callback() {
  // A closed state has no registry any more to release the reference in.
  if (!*open_) static_cast<void>(function_.release());
}

lua_State* Callback::push() const {
  lua_State* L = vm_.running != nullptr ? vm_.running : main_;
  function_->push(L);
  return L;
}

}  // namespace rtrain::engine
