// host/engine/files/pickle_checks.h: what an unpickled value has to be before anyone else sees it.
#pragma once

#include <string_view>
#include <unordered_map>

#include "host/base/error.h"
#include "host/engine/files/tree.h"

namespace rtrain {

inline constexpr int kMaxPickleDepth = 60;

// An Error(kArgument) that does not say where yet.
class MalformedPickle final : public Error {
 public:
  explicit MalformedPickle(std::string_view what);
};

// Throws MalformedPickle.
[[noreturn]] void malformed(std::string_view what);

// Address of a list or map → how many levels of containers it holds, itself counted.
using NodeHeights = std::unordered_map<const void*, int>;

// Refuses a value that is nested too deeply or holds itself; else its containers.
NodeHeights check_nesting(const Tree& tree);

// As in Python a later value takes the place of the first one under its key.
void remove_duplicates(TreeMap& map);

}  // namespace rtrain
