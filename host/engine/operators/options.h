// host/engine/operators/options.h: moved to host/lua/options.h.
#pragma once

#include "host/lua/options.h"
