// host/text/patterns/ruby_syntax.h: rewrites a regular expression of Oniguruma's Ruby syntax for
// PCRE2.
//
// They differ in the classes \w \s \h, in \b, in (?m), in {n,m}+ and in sets: within another one,
// negated or not, and in intersections. "[a-z&&[^x]]" becomes "(?:(?=[a-z])[^x])".
#pragma once

#include <string>
#include <string_view>

namespace rtrain::text {

// Throws Error(kArgument) for what PCRE2 cannot express: the absence operator (?~…), \y \Y \M, sets
// more than 50 deep, and more than 100 sets with classes that ignore case, each of which takes 40
// ms.
std::string to_pcre2(std::string_view expression);

}  // namespace rtrain::text
