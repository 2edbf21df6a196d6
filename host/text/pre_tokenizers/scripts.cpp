#include "host/text/pre_tokenizers/scripts.h"

#include <mutex>
#include <string>
#include <unordered_map>

#include "host/text/patterns/regex.h"
#include "host/text/unicode/characters.h"

namespace rtrain::text {
namespace {

constexpr int kAny = -1, kUnassigned = -2;

constexpr const char* kScripts[] = {"Common",
                                    "Inherited",
                                    "Latin",
                                    "Han",
                                    "Hiragana",
                                    "Katakana",
                                    "Hangul",
                                    "Cyrillic",
                                    "Greek",
                                    "Arabic",
                                    "Hebrew",
                                    "Devanagari",
                                    "Thai",
                                    "Armenian",
                                    "Syriac",
                                    "Thaana",
                                    "Bengali",
                                    "Gurmukhi",
                                    "Gujarati",
                                    "Oriya",
                                    "Tamil",
                                    "Telugu",
                                    "Kannada",
                                    "Malayalam",
                                    "Sinhala",
                                    "Lao",
                                    "Tibetan",
                                    "Myanmar",
                                    "Georgian",
                                    "Ethiopic",
                                    "Cherokee",
                                    "Canadian_Aboriginal",
                                    "Ogham",
                                    "Runic",
                                    "Khmer",
                                    "Mongolian",
                                    "Bopomofo",
                                    "Yi",
                                    "Old_Italic",
                                    "Gothic",
                                    "Deseret",
                                    "Tagalog",
                                    "Hanunoo",
                                    "Buhid",
                                    "Tagbanwa",
                                    "Limbu",
                                    "Tai_Le",
                                    "Linear_B",
                                    "Ugaritic",
                                    "Shavian",
                                    "Osmanya",
                                    "Cypriot",
                                    "Braille",
                                    "Buginese",
                                    "Coptic",
                                    "New_Tai_Lue",
                                    "Glagolitic",
                                    "Tifinagh",
                                    "Syloti_Nagri",
                                    "Old_Persian",
                                    "Kharoshthi",
                                    "Balinese",
                                    "Cuneiform",
                                    "Phoenician",
                                    "Phags_Pa",
                                    "Nko",
                                    "Sundanese",
                                    "Lepcha",
                                    "Ol_Chiki",
                                    "Vai",
                                    "Saurashtra",
                                    "Kayah_Li",
                                    "Rejang",
                                    "Lycian",
                                    "Carian",
                                    "Lydian",
                                    "Cham",
                                    "Tai_Tham",
                                    "Tai_Viet",
                                    "Avestan",
                                    "Egyptian_Hieroglyphs",
                                    "Samaritan",
                                    "Lisu",
                                    "Bamum",
                                    "Javanese",
                                    "Meetei_Mayek",
                                    "Imperial_Aramaic",
                                    "Old_South_Arabian",
                                    "Inscriptional_Parthian",
                                    "Inscriptional_Pahlavi",
                                    "Old_Turkic",
                                    "Kaithi",
                                    "Batak",
                                    "Brahmi",
                                    "Mandaic",
                                    "Chakma",
                                    "Meroitic_Cursive",
                                    "Meroitic_Hieroglyphs",
                                    "Miao",
                                    "Sharada",
                                    "Sora_Sompeng",
                                    "Takri",
                                    "Caucasian_Albanian",
                                    "Bassa_Vah",
                                    "Duployan",
                                    "Elbasan",
                                    "Grantha",
                                    "Pahawh_Hmong",
                                    "Khojki",
                                    "Linear_A",
                                    "Mahajani",
                                    "Manichaean",
                                    "Mende_Kikakui",
                                    "Modi",
                                    "Mro",
                                    "Old_North_Arabian",
                                    "Nabataean",
                                    "Palmyrene",
                                    "Pau_Cin_Hau",
                                    "Old_Permic",
                                    "Psalter_Pahlavi",
                                    "Siddham",
                                    "Khudawadi",
                                    "Tirhuta",
                                    "Warang_Citi",
                                    "Ahom",
                                    "Anatolian_Hieroglyphs",
                                    "Hatran",
                                    "Multani",
                                    "Old_Hungarian",
                                    "SignWriting"};

// The numbers of scripts of characters that were asked for, found by one expression for each
// script.
class ScriptTable {
 public:
  static ScriptTable& get() {
    static ScriptTable* const table = new ScriptTable();
    return *table;
  }

  int of(char32_t code) {
    const std::lock_guard lock(mutex_);
    const auto [entry, is_new] = known_.try_emplace(code, kUnassigned);
    if (is_new) entry->second = find(to_utf8(code));
    return entry->second;
  }

 private:
  ScriptTable() {
    for (const char* name : kScripts) {
      const std::string expression = std::string("\\p{sc:") + name + "}";
      patterns_.push_back(std::make_unique<Regex>(expression, expression));
    }
  }

  int find(const std::string& character) const {
    std::vector<Match> matches;
    for (size_t i = 0; i < patterns_.size(); ++i) {
      matches.clear();
      patterns_[i]->find(character, matches);
      if (matches.front().is_match) return static_cast<int>(i);
    }
    return kUnassigned;
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Regex>> patterns_;
  std::unordered_map<char32_t, int> known_;
};

int script_of(char32_t code) {
  constexpr int kHan = 3, kHiragana = 4, kKatakana = 5;
  if (code == 0x30fc) return kHan;
  if (code == ' ') return kAny;
  const int script = ScriptTable::get().of(code);
  if (script == kUnassigned) return kAny;
  return script == kHiragana || script == kKatakana ? kHan : script;
}

}  // namespace

void UnicodeScripts::pre_tokenize(PreTokenized& text) const {
  text.split_text([](NormalizedString piece) {
    std::vector<NormalizedString> out;
    const std::string& source = piece.text();
    int last = kUnassigned;
    size_t begin = source.size();  // what stands before the first known script is left out
    for (size_t at = 0; at < source.size();) {
      const Character c = character_at(source, at);
      const int script = script_of(c.code);
      if (script != kAny && last != script) {
        if (begin < at) out.push_back(piece.slice(begin, at));
        begin = at;
      }
      if (script != kAny) last = script;
      at += c.bytes;
    }
    out.push_back(piece.slice(begin, source.size()));
    return out;
  });
}

}  // namespace rtrain::text
