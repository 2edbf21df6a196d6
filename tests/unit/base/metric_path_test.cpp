#include "host/base/codec/metric_path.h"

#include <gtest/gtest.h>

#include "host/base/codec/json.h"

namespace rtrain {
namespace {

constexpr std::string_view kMetrics =
    R"({"loss":1,"val":{"loss":2,"a/b":{"c":3},"none":{}},"val/loss/x":4,"a\"/":{"b":5},"n":null,"l":[{"x":6}]})";

std::string both(const std::string& path) {
  const Value metrics = from_json(kMetrics);
  const Value* found = find_metric(metrics, path);
  const auto text = find_metric_text(kMetrics, path);
  EXPECT_EQ(found != nullptr, text.has_value()) << path;
  if (found == nullptr || !text) return "";
  EXPECT_EQ(*found, from_json(*text)) << path;
  return std::string(*text);
}

TEST(MetricPath, NamesAMetricInAMap) {
  EXPECT_EQ(both("loss"), "1");
  EXPECT_EQ(both("val/loss"), "2");
  EXPECT_EQ(both("val/a/b/c"), "3") << "a name with a slash in a map";
  EXPECT_EQ(both("val/loss/x"), "4") << "the very name";
  EXPECT_EQ(both("a\"//b"), "5");
  EXPECT_EQ(both("val"), R"({"loss":2,"a/b":{"c":3},"none":{}})");
  EXPECT_EQ(both("n"), "null");
  for (const char* path : {"", "/", "los", "loss/x", "val/", "/loss", "val//loss", "l/0/x"}) {
    EXPECT_EQ(both(path), "") << path;
  }
}

TEST(MetricPath, TheVeryNameComesFirst) {
  EXPECT_EQ(find_metric_text(R"({"a":{"b":1},"a/b":2})", "a/b"), "2");
  EXPECT_EQ(find_metric_text(R"({"a/b":{"c":1},"a":{"b/c":2}})", "a/b/c"), "2");
}

TEST(MetricPath, EachHasItsPath) {
  std::string all;
  each_metric(from_json(kMetrics), [&](const std::string& path, const Value& value) {
    all += path + "=" + to_json(value) + " ";
  });
  EXPECT_EQ(
      all, R"(loss=1 val/loss=2 val/a/b/c=3 val/none={} val/loss/x=4 a"//b=5 n=null l=[{"x":6}] )");
  std::string texts;
  each_metric_text(kMetrics, [&](std::string_view path, std::string_view value) {
    texts += from_json(path).as_string() + "=" + std::string(value) + " ";
  });
  EXPECT_EQ(texts, all);
}

}  // namespace
}  // namespace rtrain
