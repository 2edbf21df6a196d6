// host/text/patterns/scanners.h: the patterns of well-known models, written out as loops.
//
// Each cuts a text into words that cover it. A scanner takes no memory and reads each byte a few
// times.
#pragma once

#include <optional>
#include <string_view>

#include "host/text/patterns/pattern.h"

namespace rtrain::text {

// Returns the end of the word that begins at `at`. REQUIRES: at < end, [at, end) is UTF-8.
using WordScanner = const char* (*)(const char* at, const char* end);

// That of GPT-2's pattern.
const char* scan_gpt2(const char* at, const char* end);

extern const char* const kGpt2Pattern;

// The scanner that finds what the regular expression finds; nullopt where there is none.
std::optional<WordScanner> known_scanner(std::string_view expression);

PatternPointer scanner_pattern(WordScanner scanner);

}  // namespace rtrain::text
