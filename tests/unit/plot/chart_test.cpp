#include "host/plot/chart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "host/base/text/text.h"
#include "host/plot/axis.h"
#include "host/plot/painter.h"
#include "host/plot/stroke_font.h"
#include "host/plot/terminal_chart.h"

namespace rtrain::plot {
namespace {

using Lines = std::vector<std::string>;

std::vector<std::string> labels(const Axis& axis, size_t most) {
  std::vector<std::string> out;
  for (const Tick& tick : axis.ticks(most)) out.push_back(tick.label);
  return out;
}

Chart chart_of(std::vector<PlotPoint> points) {
  return {.title = "loss", .x_label = "step", .curves = {{.name = "run", .points = points}}};
}

TEST(Axis, TicksAreRoundNumbers) {
  EXPECT_EQ(labels(Axis(0, 1, false), 5), (Lines{"0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
  EXPECT_EQ(labels(Axis(-3, 12, false), 3), (Lines{"0", "5", "10"}));
  EXPECT_EQ(labels(Axis(0.0101, 0.0109, false), 4),
            (Lines{"0.0102", "0.0104", "0.0106", "0.0108"}));
  EXPECT_EQ(labels(Axis(0, 2.4e7, false), 2), (Lines{"0", "2e7"}));
  EXPECT_EQ(labels(Axis(0, 0.5, false), 2), (Lines{"0", "0.25", "0.50"}));
}

TEST(Axis, WholeNumbersHaveWholeTicks) {
  EXPECT_EQ(labels(Axis(0, 2, false, true), 8), (Lines{"0", "1", "2"}));
  EXPECT_EQ(labels(Axis(0, 9, false, true), 5), (Lines{"0", "2", "4", "6", "8"}));
  EXPECT_EQ(labels(Axis(0, 2, false), 4), (Lines{"0", "0.5", "1.0", "1.5", "2.0"}));
}

TEST(Axis, LogarithmicTicksArePowersOfTenAndWhatIsBetween) {
  EXPECT_EQ(labels(Axis(1e-3, 10, true), 5), (Lines{"0.001", "0.01", "0.1", "1", "10"}));
  EXPECT_EQ(labels(Axis(1, 30, true), 8), (Lines{"1", "2", "5", "10", "20"}));
  EXPECT_EQ(labels(Axis(2.1, 2.9, true), 3), (Lines{"2.5"}));
  EXPECT_DOUBLE_EQ(Axis(1, 100, true).place(10), 0.5);
}

TEST(Axis, OneNumberHasARangeAroundIt) {
  EXPECT_DOUBLE_EQ(Axis(4, 4, false).place(4), 0.5);
  EXPECT_DOUBLE_EQ(Axis(0, 0, false).place(0), 0.5);
  EXPECT_DOUBLE_EQ(Axis(4, 4, true).place(4), 0.5);
}

// Returns ends of ranges from the whole range of a double, and near neighbours.
std::vector<double> ends_of_ranges(std::mt19937_64& random) {
  std::vector<double> out = {0,       0.3,      0.1 + 0.2, 1,        -1,     1e-3,
                             1.7e12,  5e-324,   -5e-324,   2.2e-308, 1e308,  -1e308,
                             1.7e308, -1.7e308, 9.007e15,  0x1p53,   1e-320, 7e22};
  for (int i = 0; i < 300; ++i) {
    const double number = std::bit_cast<double>(random());
    if (std::isfinite(number)) out.push_back(number);
    out.push_back(std::ldexp(static_cast<double>(random() % 1000), static_cast<int>(i % 60) - 30));
  }
  return out;
}

void expect_ticks(double low, double high, bool is_log, bool is_whole, size_t most) {
  SCOPED_TRACE(cat("from ", low, " to ", high, is_log ? " logarithmic" : "",
                   is_whole ? " whole" : "", ", at most ", int64_t(most)));
  const Axis axis(low, high, is_log, is_whole);
  const std::vector<Tick> ticks = axis.ticks(most);
  EXPECT_LE(ticks.size(), std::max<size_t>(most, 2) + (is_log ? 3 : 1));
  for (size_t i = 0; i < ticks.size(); ++i) {
    const double place = axis.place(ticks[i].value);
    EXPECT_TRUE(place > -0.51 && place < 1.51) << ticks[i].label << " at " << place;
    if (is_whole) {
      EXPECT_EQ(ticks[i].value, std::floor(ticks[i].value));
    }
    if (i == 0) continue;
    EXPECT_LT(ticks[i - 1].value, ticks[i].value);
    EXPECT_NE(ticks[i - 1].label, ticks[i].label);
  }
  EXPECT_NEAR(axis.place(axis.low()), 0, 1e-6);
  EXPECT_NEAR(axis.place(axis.high()), 1, 1e-6);
}

TEST(Axis, AnyRangeHasAFewTicksInOrder) {
  std::mt19937_64 random(11);
  const std::vector<double> ends = ends_of_ranges(random);
  for (size_t i = 0; i < ends.size(); ++i) {
    double other = ends[random() % ends.size()];
    if (i % 3 == 0) other = std::nextafter(ends[i], 2 * ends[i] + 1);
    if (i % 7 == 0) other = ends[i];
    const auto [low, high] = std::minmax(ends[i], other);
    for (const size_t most : {0, 2, 5, 13}) {
      expect_ticks(low, high, false, false, most);
      expect_ticks(std::floor(low), std::floor(high), false, true, most);
      if (low > 0) expect_ticks(low, high, true, false, most);
    }
  }
}

TEST(Axis, TicksOfNeighboursTellThemApart) {
  EXPECT_EQ(labels(Axis(0.3, 0.1 + 0.2, false), 5), (Lines{"0.3000000000000000"}));
  EXPECT_EQ(labels(Axis(1.7e12, 1.7e12 + 2, false, true), 2),
            (Lines{"1.700000000000e12", "1.700000000001e12", "1.700000000002e12"}));
  EXPECT_EQ(labels(Axis(-1.5e308, 1.5e308, false), 2), (Lines{"-1e308", "0", "1e308"}));
}

TEST(Chart, ValuesAtTheEndsOfDoublesAreDrawn) {
  for (const double value : {0.3, 5e-324, 1e308, 1.7e308}) {
    for (const bool log_y : {false, true}) {
      Chart chart = chart_of({{0, value}, {1, std::nextafter(value, 1.0)}, {2, value}});
      chart.log_y = log_y;
      if (!log_y) chart.curves[0].points.push_back({3, -value});
      EXPECT_LE(terminal_chart(chart, {}, false).size(), ChartSize().rows + 2);
      EXPECT_EQ(svg_chart(chart, {}).find("nan"), std::string::npos);
    }
  }
}

TEST(Chart, SmoothingIsAMeanOfWhatWasSeen) {
  const auto points = smoothed({{0, 4}, {1, 4}, {2, std::nan("")}, {3, 1}}, 0.5);
  EXPECT_DOUBLE_EQ(points[1].y, 4) << "not drawn to zero at the beginning";
  EXPECT_TRUE(std::isnan(points[2].y));
  EXPECT_DOUBLE_EQ(points[3].y, (0.5 * (0.5 * 0.5 * 4 + 0.5 * 4) + 0.5 * 1) / 0.875);
  EXPECT_EQ(smoothed({{0, 1}, {1, 3}}, 0)[1].y, 3);
}

TEST(Chart, ThinningKeepsExtremaAndEnds) {
  std::mt19937 random(3);
  std::vector<PlotPoint> points;
  for (int i = 0; i < 100000; ++i) {
    points.push_back({static_cast<double>(i), static_cast<double>(random() % 1000)});
  }
  points[54321].y = 1e6;
  points[54322].y = -1e6;
  const auto thin = thinned(points, false, 100);
  EXPECT_LE(thin.size(), 404u);
  EXPECT_EQ(thin.front(), points.front());
  EXPECT_EQ(thin.back(), points.back());
  const auto [least, most] =
      std::minmax_element(thin.begin(), thin.end(), [](auto& a, auto& b) { return a.y < b.y; });
  EXPECT_EQ(*least, points[54322]);
  EXPECT_EQ(*most, points[54321]);
  EXPECT_TRUE(std::is_sorted(thin.begin(), thin.end(), [](auto& a, auto& b) { return a.x < b.x; }));
}

TEST(Chart, PointsWithoutAPlaceAreCounted) {
  Chart chart = chart_of({{0, 1}, {1, -1}, {2, HUGE_VAL}, {3, std::nan("")}, {4, 2}});
  chart.log_y = true;
  EXPECT_EQ(drop_unplaceable(chart), 2u);
  EXPECT_EQ(chart.curves[0].points.size(), 3u) << "a gap stays";
}

TEST(TerminalChart, DrawsALineWithItsAxes) {
  EXPECT_EQ(terminal_chart(chart_of({{0, 0}, {10, 1}}), {.columns = 24, .rows = 8}, false),
            (Lines{"  loss", "1 ┤                 ⢀⣀⠤⠒", "  │             ⣀⠤⠔⠊⠁",
                   "  │        ⣀⡠⠔⠊⠉", "  │   ⢀⡠⠔⠒⠉", "0 ┤⠤⠒⠉⠁", "  └┬─────────┬─────────┬",
                   "   0         5        10", "   ⠤⠤⠤⠤ run  last 1  min 0 at 0  max 1 at 10"}));
}

TEST(TerminalChart, CurvesAreToldApartByColourOrGaps) {
  Chart chart = chart_of({{0, 0}, {10, 1}});
  chart.curves.push_back({.name = "other one", .points = {{0, 1}, {10, 0}}});
  const Lines plain = terminal_chart(chart, {}, false);
  EXPECT_NE(plain[plain.size() - 2].find("⠤⠤⠤⠤ run        last 1"), std::string::npos);
  EXPECT_NE(plain.back().find("⠤⠤⠤  other one  last 0"), std::string::npos) << plain.back();
  const Lines coloured = terminal_chart(chart, {}, true);
  EXPECT_NE(coloured.back().find("\x1b[33m⠤⠤⠤⠤\x1b[0m other one"), std::string::npos);
  for (const std::string& line : plain) EXPECT_EQ(line.find('\x1b'), std::string::npos);
}

TEST(TerminalChart, ALargeStepIsShownWhole) {
  const Lines lines = terminal_chart(chart_of({{0, 0.123456}, {1234567, 1}}), {}, false);
  EXPECT_NE(lines.back().find("last 1  min 0.12346 at 0  max 1 at 1234567"), std::string::npos);
}

TEST(TerminalChart, NothingAndTooLittleRoomAreDrawnToo) {
  EXPECT_NE(terminal_chart(chart_of({}), {}, false).back().find("no points"), std::string::npos);
  EXPECT_GT(terminal_chart(chart_of({{1, 1}}), {.columns = 1, .rows = 1}, false).size(), 5u);
}

TEST(Picture, EveryLetterHasLines) {
  for (char letter = '!'; letter <= '~'; ++letter) EXPECT_FALSE(letter_strokes(letter).empty());
  EXPECT_TRUE(letter_strokes(' ').empty());
  EXPECT_EQ(letters_of("aé→").size(), 3u);
}

TEST(Picture, SvgHasTheNamesAsText) {
  Chart chart = chart_of({{0, 0}, {1, std::nan("")}, {2, 1}, {3, 2}});
  chart.curves[0].name = "a<b&c\x1b";
  const std::string svg = svg_chart(chart, {});
  EXPECT_NE(svg.find(">a&lt;b&amp;c</text>"), std::string::npos);
  EXPECT_NE(svg.find(">step</text>"), std::string::npos);
}

}  // namespace
}  // namespace rtrain::plot
