#include "host/text/pieces/pre_tokenized.h"

namespace rtrain::text {

PreTokenized::PreTokenized(std::string_view text) {
  pieces_.push_back({NormalizedString(text), {}});
}

void PreTokenized::split(const std::function<std::vector<Piece>(NormalizedString)>& cut) {
  std::vector<Piece> out;
  out.reserve(pieces_.size());
  for (Piece& piece : pieces_) {
    if (piece.tokens) {
      out.push_back(std::move(piece));
      continue;
    }
    for (Piece& part : cut(std::move(piece.text))) {
      if (!part.text.empty()) out.push_back(std::move(part));
    }
  }
  pieces_ = std::move(out);
}

void PreTokenized::split_text(
    const std::function<std::vector<NormalizedString>(NormalizedString)>& cut) {
  split([&](NormalizedString text) {
    std::vector<Piece> out;
    for (NormalizedString& part : cut(std::move(text))) out.push_back({std::move(part), {}});
    return out;
  });
}

void PreTokenized::normalize(const std::function<void(NormalizedString&)>& change) {
  for (Piece& piece : pieces_) {
    if (!piece.tokens) change(piece.text);
  }
}

}  // namespace rtrain::text
