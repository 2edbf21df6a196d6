#include "host/text/added_vocabulary.h"

#include <algorithm>

#include "host/text/unicode/characters.h"
#include "host/text/unicode/classes.h"

namespace rtrain::text {

void AddedVocabulary::Finder::add(std::string_view content, uint32_t id) {
  if (content.empty()) return;
  bool is_there = false;
  trie.each_prefix(content, [&](size_t length, uint32_t) { is_there |= length == content.size(); });
  if (is_there) return;
  trie.add(content, id);
  bool& is_first = first[static_cast<unsigned char>(content[0])];
  num_first += is_first ? 0 : 1;
  is_first = true;
}

size_t AddedVocabulary::Finder::next(std::string_view text, size_t at) const {
  if (num_first == 0) return text.size();
  if (num_first == 1) {
    const auto byte = std::find(first.begin(), first.end(), true) - first.begin();
    return std::min(text.find(static_cast<char>(byte), at), text.size());
  }
  while (at < text.size() && !first[static_cast<unsigned char>(text[at])]) ++at;
  return at;
}

uint32_t AddedVocabulary::next_id(const Vocabulary& model) const {
  const auto size = static_cast<uint32_t>(model.size());
  if (tokens_.empty()) return size;
  const uint32_t last = tokens_.rbegin()->first;
  return last >= size || size == 0 ? last + 1 : size;
}

size_t AddedVocabulary::add(const std::vector<AddedToken>& tokens, const Vocabulary& model,
                            const Normalizer* normalizer) {
  size_t added = 0;
  for (const AddedToken& token : tokens) {
    if (token.content.empty()) continue;
    auto id = id_of(token.content);
    if (id && tokens_.at(*id) == token) continue;
    if (!id) id = model.id_of(token.content);
    if (!id) id = next_id(model);
    ids_[token.content] = *id;
    tokens_[*id] = token;
    ++added;
  }
  refresh(normalizer);
  return added;
}

void AddedVocabulary::refresh(const Normalizer* normalizer) {
  auto raw = std::make_shared<Finder>(), normalized = std::make_shared<Finder>();
  for (const auto& [id, token] : tokens_) {
    if (!token.normalized) {
      raw->add(token.content, id);
      shown_[id] = token.content;
      continue;
    }
    NormalizedString content(token.content);
    if (normalizer != nullptr) normalizer->normalize(content);
    normalized->add(content.text(), id);
    shown_[id] = content.text();
  }
  raw_ = std::move(raw);
  normalized_ = std::move(normalized);
}

std::optional<uint32_t> AddedVocabulary::id_of(std::string_view token) const {
  const auto found = ids_.find(token);
  if (found == ids_.end()) return {};
  return found->second;
}

std::optional<std::string_view> AddedVocabulary::token_of(uint32_t id) const {
  const auto found = shown_.find(id);
  if (found == shown_.end()) return {};
  return found->second;
}

bool AddedVocabulary::is_special(uint32_t id) const {
  const auto found = tokens_.find(id);
  if (found == tokens_.end()) return false;
  return found->second.special && found->second.content == token_of(id);
}

bool AddedVocabulary::stands_alone(std::string_view text, size_t begin, size_t end) const {
  const bool before = begin > 0 && is_word(character_at(text, start_of_last(text, begin)).code);
  const bool after = end < text.size() && is_word(character_at(text, end).code);
  return !before && !after;
}

void AddedVocabulary::find(std::string_view text, bool normalized, std::vector<Part>& out) const {
  const Finder& finder = normalized ? *normalized_ : *raw_;
  size_t done = 0;
  for (size_t at = finder.next(text, 0); at < text.size(); at = finder.next(text, at)) {
    size_t length = 0;
    uint32_t id = 0;
    finder.trie.each_prefix(text.substr(at), [&](size_t longer, uint32_t its_id) {
      length = longer;
      id = its_id;
    });
    if (length == 0) {
      ++at;
      continue;
    }
    size_t begin = at, end = at + length;
    at = end;
    const AddedToken& token = tokens_.at(id);
    if (token.single_word && !stands_alone(text, begin, end)) continue;
    while (token.lstrip && begin > done) {
      const size_t last = start_of_last(text, begin);
      if (!is_space(character_at(text, last).code)) break;
      begin = last;
    }
    while (token.rstrip && end < text.size() && is_space(character_at(text, end).code)) {
      end += character_at(text, end).bytes;
    }
    begin = std::max(begin, done);
    if (begin > done) out.push_back({done, begin, {}});
    out.push_back({begin, end, id});
    done = end;
    at = std::max(at, end);
  }
  if (done < text.size() || text.empty()) out.push_back({done, text.size(), {}});
}

}  // namespace rtrain::text
