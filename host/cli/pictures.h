// host/cli/pictures.h: pictures on a terminal that has colours, as half blocks.
#pragma once

#include <cstddef>

#include "host/base/value.h"

namespace rtrain {

// How many pixels wide and high a picture may be on a terminal with that many columns.
size_t picture_size(size_t columns);

// {label, width, height, pixels} each, as modules/rtrain/data/peek.lua makes them.
void print_pictures(const List& pictures);

}  // namespace rtrain
