#include "host/engine/engine.h"

namespace rtrain {

void open_data(lua_State*) {}

}  // namespace rtrain
