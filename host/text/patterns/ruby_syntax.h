// host/text/patterns/ruby_syntax.h: rewrites a regular expression of Oniguruma's Ruby syntax for
// PCRE2.
//
// They differ in the classes \w \s \h, in \b, in (?m), in {n,m}+ and in sets within sets.
#pragma once

#include <string>
#include <string_view>

namespace rtrain::text {

// Throws Error(kArgument) for what PCRE2 cannot express: intersections, and negated sets within
// sets.
std::string to_pcre2(std::string_view expression);

}  // namespace rtrain::text
