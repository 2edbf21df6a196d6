// host/text/trainers/repeated_parts.h: parts that stand in words more than once, what Unigram's
// training begins with.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rtrain::text {

// The inner nodes of the suffix tree of all words: parts of 2 to `longest` characters that are
// followed by at least two different characters, or by one and by a word's end. With each part
// goes the number of its places; a word counts once. U+0000 is a word's end too. The order is that
// of the characters. Throws Error(kArgument) for words of more than 4 billion characters.
std::vector<std::pair<std::string, uint64_t>> repeated_parts(
    std::span<const std::pair<std::string, uint64_t>> words, size_t longest);

}  // namespace rtrain::text
