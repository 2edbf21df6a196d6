#include "host/text/patterns/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <chrono>
#include <optional>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/text/patterns/ruby_syntax.h"
#include "host/text/patterns/scanners.h"
#include "host/text/unicode/characters.h"

namespace rtrain::text {
namespace {

constexpr size_t kLongestExpression = 1 << 16;
constexpr uint32_t kHeapKibibytes = 256 * 1024;
constexpr std::chrono::seconds kTimeLimit{10};
// PCRE2 counts steps for each start alone. Between calls that try this many starts the clock is
// read.
constexpr size_t kStartsPerCall = 256;

std::string message_of(int error) {
  std::string out(256, '\0');
  const int size = pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(out.data()), 256);
  out.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return out;
}

// What a search needs besides the expression, for one thread.
struct Search {
  Search(const pcre2_code* code, size_t size)
      : data(pcre2_match_data_create_from_pattern(code, nullptr)),
        context(pcre2_match_context_create(nullptr)) {
    pcre2_set_match_limit(
        context, static_cast<uint32_t>(std::min<size_t>(1'000'000 + 16 * size, 500'000'000)));
    pcre2_set_heap_limit(context, kHeapKibibytes);
  }
  ~Search() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
  }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  pcre2_match_data* data;
  pcre2_match_context* context;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
};

size_t next_character(std::string_view text, size_t at) {
  return at < text.size() ? at + bytes_of_first(static_cast<unsigned char>(text[at])) : at + 1;
}

size_t to_boundary(std::string_view text, size_t at) {
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++at;
  return at;
}

}  // namespace

struct Regex::Code {
  pcre2_code* compiled;

  // The bytes of the first match that begins at `from` or later.
  std::optional<Match> first(Search& search, std::string_view text, size_t from,
                             std::string_view shown) const {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    uint32_t options = PCRE2_NO_UTF_CHECK;
    while (from <= text.size()) {
      const size_t last = to_boundary(text, std::min(from + kStartsPerCall, text.size()));
      pcre2_set_offset_limit(search.context, last);
      const int count =
          pcre2_match(compiled, subject, text.size(), from, options, search.data, search.context);
      if (count == PCRE2_ERROR_JIT_STACKLIMIT && (options & PCRE2_NO_JIT) == 0) {
        options |= PCRE2_NO_JIT;
        continue;
      }
      if (count >= 0) {
        const size_t* found = pcre2_get_ovector_pointer(search.data);
        return Match{found[0], std::max(found[0], found[1]), true};
      }
      if (count != PCRE2_ERROR_NOMATCH) fail(shown, count);
      if (std::chrono::steady_clock::now() - search.begin > kTimeLimit) {
        throw Error(rtrain::Code::kArgument,
                    cat("pattern '", shown, "' takes longer than ", kTimeLimit.count(),
                        " s on a text of ", text.size(), " bytes"));
      }
      from = next_character(text, last);
    }
    return {};
  }

  [[noreturn]] static void fail(std::string_view shown, int error) {
    const bool is_limit = error == PCRE2_ERROR_MATCHLIMIT || error == PCRE2_ERROR_HEAPLIMIT ||
                          error == PCRE2_ERROR_DEPTHLIMIT;
    throw Error(rtrain::Code::kArgument,
                is_limit ? cat("pattern '", shown, "' needs too many steps on this text")
                         : cat("pattern '", shown, "': ", message_of(error)));
  }
};

Regex::Regex(std::string_view pcre2, std::string_view shown) : shown_(shown) {
  if (pcre2.size() > kLongestExpression) {
    throw Error(rtrain::Code::kArgument,
                cat("a pattern of ", pcre2.size(), " bytes is longer than ", kLongestExpression));
  }
  auto* context = pcre2_compile_context_create(nullptr);
  pcre2_set_newline(context, PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(context, 100);
  int error = 0;
  size_t place = 0;
  const uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_USE_OFFSET_LIMIT;
  pcre2_code* compiled = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pcre2.data()), pcre2.size(),
                                       options, &error, &place, context);
  pcre2_compile_context_free(context);
  if (compiled == nullptr) {
    throw Error(rtrain::Code::kArgument, cat("pattern '", shown, "': ", message_of(error)));
  }
  pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE);  // where it is refused, the interpreter runs
  code_ = new Code{compiled};
}

Regex::~Regex() {
  pcre2_code_free(code_->compiled);
  delete code_;
}

void Regex::find(std::string_view text, std::vector<Match>& out) const {
  if (text.empty()) return out.push_back({0, 0, false});
  Search search(code_->compiled, text.size());
  size_t from = 0, done = 0;
  std::optional<size_t> last_end;
  while (auto match = code_->first(search, text, from, shown_)) {
    // No empty match where another one ends.
    if (match->begin == match->end && last_end == match->end) {
      from = next_character(text, from);
      continue;
    }
    if (match->begin > done) out.push_back({done, match->begin, false});
    out.push_back(*match);
    done = from = match->end;
    last_end = done;
  }
  if (done < text.size()) out.push_back({done, text.size(), false});
}

PatternPointer regex_pattern(std::string_view expression) {
  if (const auto scanner = known_scanner(expression)) return scanner_pattern(*scanner);
  return std::make_shared<Regex>(to_pcre2(expression), expression);
}

}  // namespace rtrain::text
