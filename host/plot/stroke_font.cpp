#include "host/plot/stroke_font.h"

#include <array>

#include "host/base/text/text.h"

namespace rtrain::plot {
namespace {

constexpr char kFirst = ' ';
constexpr char kLast = '~';

// The characters from ' ' to '~'. Two digits are a point, column and row; a space begins another
// line.
constexpr std::array<std::string_view, kLast - kFirst + 1> kLetters = {
    "",                                       // space
    "2024 2526",                              // !
    "1012 3032",                              // "
    "1016 3036 0242 0444",                    // #
    "413010010213334445361605 2026",          // $
    "4006 0010110100 3545463635",             // %
    "4601102031130405163644",                 // &
    "2022",                                   // '
    "30222436",                               // (
    "10222416",                               // )
    "2125 0244 4204",                         // *
    "0444 2226",                              // +
    "2517",                                   // ,
    "0444",                                   // -
    "2526",                                   // .
    "4006",                                   // /
    "103041453616050110",                     // 0
    "112026 1636",                            // 1
    "01103041420646",                         // 2
    "011030414233 13334445361605",            // 3
    "36300444",                               // 4
    "400002324345361605",                     // 5
    "4130100105163645443303",                 // 6
    "00404116",                               // 7
    "103041423313020110 133344453616050413",  // 8
    "0516364541301001021343",                 // 9
    "2223 2526",                              // :
    "2223 2517",                              // ;
    "420446",                                 // <
    "0343 0545",                              // =
    "024406",                                 // >
    "0110304142332324 2526",                  // ?
    "332324344441301001051646",               // @
    "0602204246 0444",                        // A
    "06003041423303 3344453606",              // B
    "4130100105163645",                       // C
    "06002042442606",                         // D
    "40000646 0333",                          // E
    "400006 0333",                            // F
    "41301001051636454323",                   // G
    "0006 4046 0343",                         // H
    "1030 2026 1636",                         // I
    "4045361605",                             // J
    "0006 4004 1346",                         // K
    "000646",                                 // L
    "0600234046",                             // M
    "06004640",                               // N
    "103041453616050110",                     // O
    "06003041423303",                         // P
    "103041453616050110 2446",                // Q
    "06003041423303 2346",                    // R
    "413010010213334445361605",               // S
    "0040 2026",                              // T
    "000516364540",                           // U
    "002640",                                 // V
    "0016233640",                             // W
    "0046 4006",                              // X
    "002340 2326",                            // Y
    "00400646",                               // Z
    "30202636",                               // [
    "0046",                                   // backslash
    "10202616",                               // ]
    "022042",                                 // ^
    "0747",                                   // _
    "1021",                                   // `
    "12324346 441405163645",                  // a
    "0006 0312324345361605",                  // b
    "4332120305163645",                       // c
    "4046 4332120305163645",                  // d
    "04444332120305163645",                   // e
    "41302126 1242",                          // f
    "4247381807 4332120305163645",            // g
    "0006 0312324346",                        // h
    "2226 2021",                              // i
    "32372818 3031",                          // j
    "0006 4205 1446",                         // k
    "2026",                                   // l
    "0602122326 23324346",                    // m
    "0602 0312324346",                        // n
    "123243453616050312",                     // o
    "0208 0312324345361605",                  // p
    "4248 4332120305163645",                  // q
    "0602 03123243",                          // r
    "43321203143445361605",                   // s
    "20253645 0242",                          // t
    "0205163645 4246",                        // u
    "022642",                                 // v
    "0216233642",                             // w
    "0246 4206",                              // x
    "0226 4218",                              // y
    "02420646",                               // z
    "30212213242536",                         // {
    "2028",                                   // |
    "10212233242516",                         // }
    "04133544",                               // ~
};
constexpr std::string_view kBox = "0040460600";

}  // namespace

std::vector<std::vector<PlotPoint>> letter_strokes(char letter) {
  const bool known = letter >= kFirst && letter <= kLast;
  const std::string_view code = known ? kLetters.at(static_cast<size_t>(letter - kFirst)) : kBox;
  std::vector<std::vector<PlotPoint>> out;
  for (const std::string& line : split(code, ' ')) {
    std::vector<PlotPoint> points;
    for (size_t i = 0; i + 1 < line.size(); i += 2) {
      points.push_back(
          {static_cast<double>(line[i] - '0'), static_cast<double>(line[i + 1] - '0')});
    }
    if (!points.empty()) out.push_back(std::move(points));
  }
  return out;
}

std::vector<char> letters_of(std::string_view text) {
  std::vector<char> out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0) == 0x80) continue;  // a further byte of a character
    out.push_back(byte < 0x80 ? c : '\0');
  }
  return out;
}

}  // namespace rtrain::plot
