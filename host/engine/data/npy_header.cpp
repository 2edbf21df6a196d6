#include "host/engine/data/npy_header.h"

#include <charconv>
#include <string>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::engine {
namespace {

constexpr size_t kMaxDims = 64;
constexpr size_t kMostShown = 80;

struct TypeWord {
  std::string_view word;  // NumPy's kind and size, such as "f4"
  at::ScalarType dtype;
};

constexpr TypeWord kTypeWords[] = {
    {"b1", at::kBool},         {"u1", at::kByte},
    {"i1", at::kChar},         {"i2", at::kShort},
    {"i4", at::kInt},          {"i8", at::kLong},
    {"u2", at::kUInt16},       {"u4", at::kUInt32},
    {"u8", at::kUInt64},       {"f2", at::kHalf},
    {"f4", at::kFloat},        {"f8", at::kDouble},
    {"c8", at::kComplexFloat}, {"c16", at::kComplexDouble},
};

[[noreturn]] void malformed(std::string_view what) {
  throw Error(Code::kArgument, cat("malformed .npy header: ", what));
}

std::string shown(std::string_view text) {
  return text.size() <= kMostShown ? std::string(text) : cat(text.substr(0, kMostShown), "…");
}

// Throws an error that says why arrays of that type are not read.
[[noreturn]] void refuse_type(std::string_view descr) {
  const char kind = descr.size() > 1 ? descr[1] : '\0';
  std::string_view reason = "which has no dtype here";
  if (kind == 'O') reason = "objects, which are pickles and could run any code: save plain numbers";
  if (kind == 'S' || kind == 'U' || kind == 'a') reason = "texts: save them as CSV or JSON lines";
  if (kind == 'M' || kind == 'm') reason = "dates or durations: save x.astype('int64')";
  if (kind == 'f' || kind == 'c') reason = "long doubles: save x.astype('float64')";
  if (kind == 'V') reason = "raw records: save each field as an array of its own";
  throw Error(Code::kArgument,
              cat("its elements have NumPy's type '", shown(descr), "', ", reason));
}

// Parses the few kinds of Python literals that occur in a header.
class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  NpyHeader header() {
    NpyHeader out;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = text();
      expect(':');
      field(key, out);
      if (accept(',')) continue;
      expect('}');
      break;
    }
    skip_space();
    if (!rest_.empty()) malformed("something follows its dictionary");
    if (!has_descr_ || !has_order_ || !has_shape_) {
      malformed("it has not all of 'descr', 'fortran_order' and 'shape'");
    }
    return out;
  }

 private:
  void field(std::string_view key, NpyHeader& out) {
    if (key == "descr") {
      once(has_descr_, key);
      descr(out);
    } else if (key == "fortran_order") {
      once(has_order_, key);
      out.fortran_order = boolean();
    } else if (key == "shape") {
      once(has_shape_, key);
      out.shape = shape();
    } else {
      malformed(cat("it has an unknown key '", shown(key), "'"));
    }
  }

  static void once(bool& seen, std::string_view key) {
    if (seen) malformed(cat("it has the key '", key, "' twice"));
    seen = true;
  }

  void descr(NpyHeader& out) {
    skip_space();
    if (rest_.starts_with('[')) {
      throw Error(Code::kArgument,
                  "it is a structured array: save each of its fields as an array of its own");
    }
    const std::string_view word = text();
    if (word.size() < 2) refuse_type(word);
    const char order = word.front();
    for (const TypeWord& known : kTypeWords) {
      if (known.word != word.substr(1)) continue;
      const bool single = c10::elementSize(known.dtype) == 1;
      if (order != '<' && order != '>' && order != '=' && !(order == '|' && single)) break;
      out.dtype = known.dtype;
      out.swapped = order == '>' && !single;
      return;
    }
    refuse_type(word);
  }

  std::vector<int64_t> shape() {
    std::vector<int64_t> out;
    expect('(');
    while (!accept(')')) {
      if (out.size() == kMaxDims) malformed(cat("it has more than ", kMaxDims, " dimensions"));
      out.push_back(integer());
      if (accept(',')) continue;
      expect(')');
      break;
    }
    return out;
  }

  int64_t integer() {
    skip_space();
    int64_t out = 0;
    const char* const begin = rest_.data();
    const auto [end, code] = std::from_chars(begin, begin + rest_.size(), out);
    if (code != std::errc() || out < 0)
      malformed("a size in its shape is not a number, or too large");
    rest_.remove_prefix(static_cast<size_t>(end - begin));
    if (rest_.starts_with('L')) rest_.remove_prefix(1);  // Python 2 wrote long integers like that
    return out;
  }

  bool boolean() {
    skip_space();
    for (const std::string_view word : {"True", "False"}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return word == "True";
    }
    malformed("'fortran_order' is neither True nor False");
  }

  // A quoted string. Headers contain no escaped characters.
  std::string_view text() {
    skip_space();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    if (quote != '\'' && quote != '"') malformed("a quoted text is missing");
    const size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) malformed("a quoted text has no end");
    const std::string_view out = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return out;
  }

  void expect(char wanted) {
    if (!accept(wanted)) malformed(cat("'", wanted, "' is missing"));
  }

  bool accept(char wanted) {
    skip_space();
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void skip_space() {
    const size_t first = rest_.find_first_not_of(" \t\n\r");
    rest_.remove_prefix(first == std::string_view::npos ? rest_.size() : first);
  }

  std::string_view rest_;
  bool has_descr_ = false, has_order_ = false, has_shape_ = false;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text) { return Parser(text).header(); }

}  // namespace rtrain::engine
