// host/text/pieces/pre_tokenized.h: a text in pieces, some of which are tokens already.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "host/text/pieces/token.h"

namespace rtrain::text {

struct Piece {
  NormalizedString text;
  std::optional<std::vector<Token>> tokens;  // nullopt until it has been tokenized
};

class PreTokenized {
 public:
  explicit PreTokenized(std::string_view text);

  std::vector<Piece>& pieces() { return pieces_; }
  const std::vector<Piece>& pieces() const { return pieces_; }

  // Replaces each piece without tokens by those that the function makes of it; empty ones are
  // dropped.
  void split(const std::function<std::vector<Piece>(NormalizedString)>& cut);
  void split_text(const std::function<std::vector<NormalizedString>(NormalizedString)>& cut);
  // Changes the text of each piece without tokens.
  void normalize(const std::function<void(NormalizedString&)>& change);

 private:
  std::vector<Piece> pieces_;
};

}  // namespace rtrain::text
