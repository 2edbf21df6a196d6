#include <algorithm>
#include <array>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/base/text/utf8.h"
#include "host/text/decoders/decoder.h"
#include "host/text/fields/fields.h"
#include "host/text/patterns/pattern_field.h"
#include "host/text/pieces/byte_characters.h"
#include "host/text/unicode/characters.h"

namespace rtrain::text {
namespace {

std::string replaced(std::string_view text, std::string_view what, std::string_view with) {
  if (what.empty()) {  // between all characters
    std::string out(with);
    for (size_t at = 0; at < text.size();) {
      const uint32_t bytes = bytes_of_first(static_cast<unsigned char>(text[at]));
      out.append(text.substr(at, bytes)).append(with);
      at += bytes;
    }
    return out;
  }
  std::string out;
  size_t done = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, done)) {
    out.append(text.substr(done, at - done)).append(with);
    done = at + what.size();
  }
  return out.append(text.substr(done));
}

// Takes back what separating English punctuation has added.
std::string cleaned(std::string text) {
  static constexpr std::array<std::pair<const char*, const char*>, 11> kReplacements = {{
      {" .", "."},
      {" ?", "?"},
      {" !", "!"},
      {" ,", ","},
      {" ' ", "'"},
      {" n't", "n't"},
      {" 'm", "'m"},
      {" do not", " don't"},
      {" 's", "'s"},
      {" 've", "'ve"},
      {" 're", "'re"},
  }};
  for (const auto& [what, with] : kReplacements) text = replaced(text, what, with);
  return text;
}

class BpeDecoder final : public Decoder {
 public:
  explicit BpeDecoder(const Fields& fields) : suffix_(fields.text("suffix")) {}
  void decode(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) {
      token = replaced(token, suffix_, &token == &tokens.back() ? "" : " ");
    }
  }

 private:
  std::string suffix_;
};

class ByteLevel final : public Decoder {
 public:
  void decode(std::vector<std::string>& tokens) const override {
    std::string bytes;
    for (const std::string& token : tokens) bytes += bytes_of_characters(token).value_or(token);
    tokens = {replace_invalid(bytes)};
  }
};

class ByteFallback final : public Decoder {
 public:
  void decode(std::vector<std::string>& tokens) const override {
    std::vector<std::string> out;
    std::string bytes;
    const auto flush = [&] {
      if (bytes.empty()) return;
      if (is_utf8(bytes)) {
        out.push_back(bytes);
      } else {
        out.insert(out.end(), bytes.size(), "\xef\xbf\xbd");
      }
      bytes.clear();
    };
    for (std::string& token : tokens) {
      if (const int byte = byte_of(token); byte >= 0) {
        bytes += static_cast<char>(byte);
        continue;
      }
      flush();
      out.push_back(std::move(token));
    }
    flush();
    tokens = std::move(out);
  }

 private:
  static int byte_of(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
    const auto digit = [](char c) {
      if (c >= '0' && c <= '9') return c - '0';
      if (c >= 'A' && c <= 'F') return c - 'A' + 10;
      return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    };
    const int high = token[3] == '+' ? 0 : digit(token[3]), low = digit(token[4]);
    return high < 0 || low < 0 ? -1 : high << 4 | low;
  }
};

class Ctc final : public Decoder {
 public:
  explicit Ctc(const Fields& fields)
      : pad_(fields.text("pad_token")),
        delimiter_(fields.text("word_delimiter_token")),
        cleanup_(fields.boolean("cleanup")) {}
  void decode(std::vector<std::string>& tokens) const override {
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    std::vector<std::string> out;
    for (const std::string& token : tokens) {
      std::string text = replaced(token, pad_, "");
      if (cleanup_) text = replaced(cleaned(text), delimiter_, " ");
      if (!text.empty()) out.push_back(std::move(text));
    }
    tokens = std::move(out);
  }

 private:
  std::string pad_, delimiter_;
  bool cleanup_;
};

class Fuse final : public Decoder {
 public:
  void decode(std::vector<std::string>& tokens) const override {
    std::string all;
    for (const std::string& token : tokens) all += token;
    tokens = {std::move(all)};
  }
};

class Metaspace final : public Decoder {
 public:
  explicit Metaspace(const Fields& fields)
      : replacement_(to_utf8(fields.character("replacement"))),
        drops_first_(fields.text("prepend_scheme", "always") != "never") {
    if (fields.find("prepend_scheme") == nullptr && !fields.boolean("add_prefix_space", true)) {
      drops_first_ = false;
    }
  }
  void decode(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) {
      const bool drops = drops_first_ && &token == &tokens.front();
      token = replaced(token, replacement_, drops ? "" : " ");
    }
  }

 private:
  std::string replacement_;
  bool drops_first_;
};

class Replace final : public Decoder {
 public:
  explicit Replace(const Fields& fields)
      : pattern_(pattern_field(fields)), content_(fields.text("content")) {}
  void decode(std::vector<std::string>& tokens) const override {
    std::vector<Match> matches;
    for (std::string& token : tokens) {
      matches.clear();
      pattern_->find(token, matches);
      std::string out;
      for (const Match& match : matches) {
        if (match.is_match) {
          out += content_;
        } else {
          out.append(token, match.begin, match.end - match.begin);
        }
      }
      token = std::move(out);
    }
  }

 private:
  PatternPointer pattern_;
  std::string content_;
};

// Takes a character away at the ends of each token, at most so often as it says.
class Strip final : public Decoder {
 public:
  explicit Strip(const Fields& fields)
      : content_(to_utf8(fields.character("content"))),
        start_(fields.count("start")),
        stop_(fields.count("stop")) {}
  void decode(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) {
      std::string_view left = token, right = token;
      size_t before = 0, after = 0;
      for (; before < start_ && left.starts_with(content_); ++before) {
        left.remove_prefix(content_.size());
      }
      for (; after < stop_ && right.ends_with(content_); ++after) {
        right.remove_suffix(content_.size());
      }
      const size_t cut = (before + after) * content_.size();
      token = cut >= token.size() ? "" : token.substr(before * content_.size(), token.size() - cut);
    }
  }

 private:
  std::string content_;
  uint32_t start_, stop_;
};

class WordPiece final : public Decoder {
 public:
  explicit WordPiece(const Fields& fields)
      : prefix_(fields.text("prefix", "##")), cleanup_(fields.boolean("cleanup", true)) {}
  void decode(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) {
      if (&token != &tokens.front()) {
        token = token.starts_with(prefix_) ? token.substr(prefix_.size()) : " " + token;
      }
      if (cleanup_) token = cleaned(token);
    }
  }

 private:
  std::string prefix_;
  bool cleanup_;
};

class Sequence final : public Decoder {
 public:
  explicit Sequence(const Fields& fields) {
    for (const Value& part : fields.list("decoders")) parts_.push_back(make_decoder(part));
  }
  void decode(std::vector<std::string>& tokens) const override {
    for (const auto& part : parts_) part->decode(tokens);
  }

 private:
  std::vector<std::unique_ptr<Decoder>> parts_;
};

}  // namespace

std::unique_ptr<Decoder> make_decoder(const Value& component) {
  const Fields fields(component, "decoder");
  const std::string type = fields.text("type");
  if (type == "ByteLevel") return std::make_unique<ByteLevel>();
  if (type == "WordPiece") return std::make_unique<WordPiece>(fields);
  if (type == "Metaspace") return std::make_unique<Metaspace>(fields);
  if (type == "BPEDecoder") return std::make_unique<BpeDecoder>(fields);
  if (type == "ByteFallback") return std::make_unique<ByteFallback>();
  if (type == "Fuse") return std::make_unique<Fuse>();
  if (type == "Strip") return std::make_unique<Strip>(fields);
  if (type == "Replace") return std::make_unique<Replace>(fields);
  if (type == "CTC") return std::make_unique<Ctc>(fields);
  if (type == "Sequence") return std::make_unique<Sequence>(fields);
  throw Error(Code::kArgument, cat("decoder: unknown type '", type, "'"));
}

}  // namespace rtrain::text
