// host/base/text/text_width.h: how many columns of a terminal a text takes. Pure.
//
// East Asian characters and emoji take two, marks that stand on the character before them none,
// all others one: as wcwidth() says, which asks a locale. Other bytes than UTF-8 take one each.
#pragma once

#include <cstddef>
#include <string_view>

namespace rtrain {

size_t text_width(std::string_view text);

// How many bytes of the text are whole characters that fit those columns.
size_t bytes_that_fit(std::string_view text, size_t columns);

}  // namespace rtrain
