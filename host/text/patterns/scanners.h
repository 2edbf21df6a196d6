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

// GPT-2's pattern; that of cl100k, Llama 3 and Qwen 2 (which take one to three digits, or one);
// that of o200k.
const char* scan_gpt2(const char* at, const char* end);
const char* scan_cl100k(const char* at, const char* end);
const char* scan_qwen2(const char* at, const char* end);
const char* scan_o200k(const char* at, const char* end);

extern const char* const kGpt2Pattern;

// The scanner that finds what the regular expression finds; nullopt where there is none.
std::optional<WordScanner> known_scanner(std::string_view expression);

PatternPointer scanner_pattern(WordScanner scanner);

}  // namespace rtrain::text
