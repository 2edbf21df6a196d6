// host/engine/precompiled.h: what nearly every file of the engine includes, compiled once for all
// of them. Files still include what they use: the dev build goes without this one.
#pragma once

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include "host/base/precompiled.h"
