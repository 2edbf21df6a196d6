#include "host/text/formats/sentencepiece.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/base/text/utf8.h"
#include "host/text/models/vocabulary.h"
#include "host/text/unicode/characters.h"

namespace rtrain::text {
namespace {

[[noreturn]] void refuse() { throw Error(Code::kArgument, "not a model of SentencePiece"); }

// One field of a message: a number, or bytes.
struct Field {
  uint32_t number = 0;
  uint64_t value = 0;
  std::string_view bytes;
  bool is_bytes = false;
};

class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : rest_(bytes) {}

  std::optional<Field> next() {
    if (rest_.empty()) return {};
    const uint64_t key = varint();
    Field out;
    out.number = static_cast<uint32_t>(key >> 3);
    switch (key & 7) {
      case 0:
        out.value = varint();
        break;
      case 1:
        out.value = fixed(8);
        break;
      case 2:
        out.bytes = take(varint());
        out.is_bytes = true;
        break;
      case 5:
        out.value = fixed(4);
        break;
      default:
        refuse();
    }
    return out;
  }

 private:
  uint64_t varint() {
    uint64_t out = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      out |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return out;
    }
    refuse();
  }

  uint64_t fixed(size_t size) {
    uint64_t out = 0;
    std::memcpy(&out, take(size).data(), size);
    return out;
  }

  std::string_view take(uint64_t size) {
    if (size > rest_.size()) refuse();
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }

  std::string_view rest_;
};

SentencePieceModel::Piece piece_of(std::string_view bytes) {
  SentencePieceModel::Piece out;
  MessageReader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number == 1 && field->is_bytes) out.text = field->bytes;
    if (field->number == 2) {
      const auto bits = static_cast<uint32_t>(field->value);
      std::memcpy(&out.score, &bits, sizeof bits);
    }
    if (field->number == 3) out.type = static_cast<SentencePieceModel::PieceType>(field->value);
  }
  if (!is_utf8(out.text)) refuse();
  return out;
}

void read_trainer(std::string_view bytes, SentencePieceModel& out) {
  MessageReader reader(bytes);
  while (const auto field = reader.next()) {
    const auto value = static_cast<int64_t>(field->value);
    if (field->number == 3) out.kind = static_cast<SentencePieceModel::Kind>(value);
    if (field->number == 35) out.byte_fallback = value != 0;
    if (field->number == 40) out.unk_id = value;
    if (field->number == 41) out.bos_id = value;
    if (field->number == 42) out.eos_id = value;
  }
}

void read_normalizer(std::string_view bytes, SentencePieceModel& out) {
  MessageReader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number == 2 && field->is_bytes) out.charsmap = field->bytes;
    if (field->number == 3) out.add_dummy_prefix = field->value != 0;
  }
}

// Each pair of pieces that makes a piece is a merge; the piece with the highest score comes first.
List merges_of(const SentencePieceModel& model) {
  std::unordered_map<std::string_view, uint32_t> ids;
  for (uint32_t id = 0; id < model.pieces.size(); ++id) ids.emplace(model.pieces[id].text, id);
  struct Candidate {
    float score;
    size_t left_length, right_length;
    std::string_view left, right;
  };
  std::vector<Candidate> all;
  std::vector<std::tuple<uint32_t, uint32_t, size_t>> cuts;
  for (const auto& piece : model.pieces) {
    cuts.clear();
    const std::string_view text = piece.text;
    if (text.size() > 4096) refuse();
    for (size_t cut = 0; cut < text.size();) {
      cut += bytes_of_first(static_cast<unsigned char>(text[cut]));
      const auto left = ids.find(text.substr(0, cut)), right = ids.find(text.substr(cut));
      if (cut < text.size() && left != ids.end() && right != ids.end()) {
        cuts.emplace_back(left->second, right->second, cut);
      }
    }
    std::sort(cuts.begin(), cuts.end());
    for (const auto& [left, right, cut] : cuts) {
      all.push_back({piece.score, count_characters(text.substr(0, cut)),
                     count_characters(text.substr(cut)), text.substr(0, cut), text.substr(cut)});
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.score, a.left_length, a.right_length) >
           std::tie(b.score, b.left_length, b.right_length);
  });
  List out;
  for (const Candidate& merge : all) {
    out.push_back(List{Value(merge.left), Value(merge.right)});
  }
  return out;
}

}  // namespace

SentencePieceModel read_sentencepiece(std::string_view bytes) {
  SentencePieceModel out;
  MessageReader reader(bytes);
  while (const auto field = reader.next()) {
    if (!field->is_bytes) continue;
    if (field->number == 1) out.pieces.push_back(piece_of(field->bytes));
    if (field->number == 2) read_trainer(field->bytes, out);
    if (field->number == 3) read_normalizer(field->bytes, out);
    if (out.pieces.size() > kMostTokens) throw Error(Code::kArgument, "too many pieces");
  }
  if (out.pieces.empty()) refuse();
  return out;
}

Value model_of_sentencepiece(const SentencePieceModel& model) {
  if (model.kind == SentencePieceModel::Kind::kUnigram) {
    List vocab;
    for (const auto& piece : model.pieces) vocab.push_back(List{piece.text, double{piece.score}});
    return Map{{"type", "Unigram"},
               {"unk_id", model.unk_id},
               {"vocab", std::move(vocab)},
               {"byte_fallback", model.byte_fallback}};
  }
  if (model.kind != SentencePieceModel::Kind::kBpe) {
    throw Error(Code::kUnsupported, "SentencePiece's models of words and characters");
  }
  Map vocab;
  for (uint32_t id = 0; id < model.pieces.size(); ++id) vocab.set(model.pieces[id].text, id);
  const auto unk = static_cast<size_t>(model.unk_id);
  return Map{{"type", "BPE"},
             {"unk_token", unk < model.pieces.size() ? Value(model.pieces[unk].text) : Value()},
             {"fuse_unk", true},
             {"byte_fallback", model.byte_fallback},
             {"vocab", std::move(vocab)},
             {"merges", merges_of(model)}};
}

}  // namespace rtrain::text
