#include "host/engine/engine.h"

namespace rtrain {

void open_serialize(lua_State*) {}

}  // namespace rtrain
