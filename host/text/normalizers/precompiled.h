// host/text/normalizers/precompiled.h: SentencePiece's table of replacements,
// "precompiled_charsmap".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/text/normalizers/normalizer.h"

namespace rtrain::text {

class Precompiled final : public Normalizer {
 public:
  // Throws Error(kArgument) for bytes that are not such a table.
  explicit Precompiled(std::string_view table);

  void normalize(NormalizedString& text) const override;

 private:
  // What the text becomes that begins with a key of the table; nullopt if none does.
  std::optional<std::string_view> find(std::string_view text) const;

  std::vector<uint32_t> units_;  // of a trie as double array
  std::string replacements_;     // each ends with a zero byte
};

}  // namespace rtrain::text
