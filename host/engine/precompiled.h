// host/engine/precompiled.h: headers that nearly every file of the engine includes, compiled once
// for all. Files still include what they use, because the dev build has no precompiled header.
#pragma once

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include "host/base/precompiled.h"
