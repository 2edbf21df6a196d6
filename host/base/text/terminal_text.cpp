#include "host/base/text/terminal_text.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "host/base/text/text.h"
#include "host/base/text/utf8.h"

namespace rtrain {
namespace {

constexpr char kEscape = '\x1b';
constexpr size_t kLongestSgr = 64;

// The first character or sequence of a text. Length 0 means that more bytes are needed.
struct Piece {
  enum class Kind { kText, kControl, kInvalid, kColor };
  size_t size = 0;
  Kind kind = Kind::kText;
};

// A colour sequence such as "\x1b[1;31m"; for any other sequence, a control character.
Piece escape_piece(std::string_view text) {
  constexpr std::string_view kParameters = "0123456789;:";
  size_t at = 1;
  if (at < text.size() && text[at] != '[') return {1, Piece::Kind::kControl};
  for (++at; at < text.size() && at < kLongestSgr; ++at) {
    if (text[at] == 'm') return {at + 1, Piece::Kind::kColor};
    if (kParameters.find(text[at]) == std::string_view::npos) return {1, Piece::Kind::kControl};
  }
  if (at >= kLongestSgr) return {1, Piece::Kind::kControl};
  return {};
}

// A character of several bytes.
Piece wide_piece(std::string_view text) {
  const size_t length = utf8_length(static_cast<unsigned char>(text.front()));
  if (length == 0) return {1, Piece::Kind::kInvalid};
  const std::string_view rest = text.substr(1, length - 1);
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  if (!std::all_of(rest.begin(), rest.end(), continues)) return {1, Piece::Kind::kInvalid};
  if (text.size() < length) return {};
  if (!is_utf8(text.substr(0, length))) return {1, Piece::Kind::kInvalid};
  const bool is_c1 = length == 2 && text[0] == '\xC2' && static_cast<unsigned char>(text[1]) < 0xA0;
  return {length, is_c1 ? Piece::Kind::kControl : Piece::Kind::kText};
}

Piece first_piece(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (text.front() == kEscape) return escape_piece(text);
  if (first >= 0x80) return wide_piece(text);
  return {1, first < 0x20 || first == 0x7F ? Piece::Kind::kControl : Piece::Kind::kText};
}

std::string escaped(std::string_view piece) {
  std::array<char, 8> out{};
  const auto last = static_cast<unsigned char>(piece.back());
  std::snprintf(out.data(), out.size(), piece.size() == 2 ? "\\u00%02x" : "\\x%02x", last);
  return out.data();
}

bool moves_on(std::string_view piece) { return piece == "\n" || piece == "\t" || piece == "\r"; }

}  // namespace

std::string TerminalText::show(bool at_end) {
  std::string out;
  size_t at = 0;
  while (at < pending_.size()) {
    Piece piece = first_piece(std::string_view(pending_).substr(at));
    if (piece.size == 0 && !at_end) break;
    if (piece.size == 0) piece = {1, Piece::Kind::kInvalid};
    const std::string_view text = std::string_view(pending_).substr(at, piece.size);
    const bool is_shown = piece.kind == Piece::Kind::kText || piece.kind == Piece::Kind::kColor;
    out += is_shown || moves_on(text) ? std::string(text) : escaped(text);
    if (piece.kind == Piece::Kind::kColor) colored_ = text != "\x1b[m" && text != "\x1b[0m";
    at += piece.size;
  }
  pending_.erase(0, at);
  return out;
}

std::string TerminalText::add(std::string_view bytes) {
  pending_ += bytes;
  return show(false);
}

std::string TerminalText::finish() {
  std::string out = show(true);
  if (colored_) out += "\x1b[0m";
  colored_ = false;
  return out;
}

std::string terminal_text(std::string_view text) {
  TerminalText whole;
  const std::string shown = whole.add(text);
  return shown + whole.finish();
}

std::string terminal_line(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    Piece piece = first_piece(text);
    if (piece.kind == Piece::Kind::kColor || piece.size == 0) piece = {1, Piece::Kind::kControl};
    const std::string_view shown = text.substr(0, piece.size);
    out += piece.kind == Piece::Kind::kText ? std::string(shown) : escaped(shown);
    text.remove_prefix(piece.size);
  }
  return out;
}

std::string terminal_cell(std::string_view text) { return terminal_line(one_line(text)); }

}  // namespace rtrain
