// host/base/text/text_width.h: the number of terminal columns of a text. Pure.
//
// East Asian characters and emoji take two columns, combining marks none, all others one: like
// wcwidth(), but independent of the locale. A byte that is not UTF-8 takes one column.
#pragma once

#include <cstddef>
#include <string_view>

namespace rtrain {

size_t text_width(std::string_view text);

// Returns how many bytes of the text are whole characters that fit into the columns.
size_t bytes_that_fit(std::string_view text, size_t columns);

}  // namespace rtrain
