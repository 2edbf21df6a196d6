#include <gtest/gtest.h>

#include <cmath>

#include "host/base/error.h"
#include "host/dash/access.h"
#include "host/dash/curve.h"
#include "host/http/http_parser.h"

namespace rtrain {
namespace {

TEST(HttpTarget, EscapesAreUndone) {
  const auto target = parse_target("/a%20b?x=1+2&x=%26&y&=z&&q=a=b");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/a b");
  EXPECT_EQ(target->query.all("x"), (std::vector<std::string>{"1 2", "&"}));
  EXPECT_EQ(target->query.find("x"), "&");
  EXPECT_EQ(target->query.find("y"), "");
  EXPECT_EQ(target->query.find("q"), "a=b");
  EXPECT_FALSE(target->query.find("z"));
}

TEST(HttpTarget, WrongEscapesHaveNoTarget) {
  for (const char* wrong : {"", "a", "*", "http://a/", "/%", "/%4", "/%zz", "/%00", "/?a=%0"}) {
    EXPECT_FALSE(parse_target(wrong)) << wrong;
  }
}

TEST(HttpParser, BytesMayComeOneByOne) {
  HttpParser parser;
  const std::string text =
      "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET /y HTTP/1.1\r\nHOST: "
      "b\r\n\r\n";
  std::vector<HttpRequest> found;
  for (const char c : text) {
    parser.feed({&c, 1});
    while (auto request = parser.next()) found.push_back(std::move(*request));
  }
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].method, "POST");
  EXPECT_EQ(found[0].body, "abc");
  EXPECT_EQ(found[1].path, "/y");
  EXPECT_EQ(found[1].header("host"), "b");
  EXPECT_FALSE(parser.is_within_request());
  EXPECT_EQ(parser.refused(), 0);
}

TEST(HttpParser, NothingFollowsWhatIsRefused) {
  HttpParser parser;
  parser.feed("GET / HTTP/1.1\r\nA\r\n\r\nGET /y HTTP/1.1\r\nHost: b\r\n\r\n");
  EXPECT_FALSE(parser.next());
  EXPECT_EQ(parser.refused(), 400);
  EXPECT_FALSE(parser.next());
}

TEST(HttpParser, ChunksAreRefusedBeforeTheyAreRead) {
  HttpParser parser;
  parser.feed("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_FALSE(parser.next());
  EXPECT_EQ(parser.refused(), 400);
}

TEST(HttpParser, ALongHeaderIsRefusedBeforeItsEnd) {
  HttpParser parser;
  parser.feed("GET / HTTP/1.1\r\nA: " + std::string(2 * kMaxHeaderBytes, 'x'));
  EXPECT_FALSE(parser.next());
  EXPECT_EQ(parser.refused(), 431);
}

class Accessible : public testing::Test {
 protected:
  static HttpRequest request(std::map<std::string, std::string> headers) {
    HttpRequest out;
    out.method = "GET";
    out.path = "/api/runs";
    headers.emplace("host", "127.0.0.1:80");
    out.headers = std::move(headers);
    return out;
  }
  static int status(HttpRequest request, bool read_only = false) {
    AccessOptions options;
    options.writer = {"secret", "biscuit"};
    options.viewer = {"look", "crumb"};
    options.cookie_name = "name";
    options.hosts = {"127.0.0.1"};
    options.read_only = read_only;
    const auto refusal = Access(options).refuse(request);
    return refusal ? refusal->status : 200;
  }
};

TEST_F(Accessible, ByTokenOrCookie) {
  EXPECT_EQ(status(request({})), 401);
  EXPECT_EQ(status(request({{"authorization", "Bearer secret"}})), 200);
  EXPECT_EQ(status(request({{"authorization", "Bearer secre"}})), 401);
  EXPECT_EQ(status(request({{"authorization", "Bearer "}})), 401);
  EXPECT_EQ(status(request({{"cookie", "other=1; name=biscuit"}})), 200);
  EXPECT_EQ(status(request({{"cookie", "name=secret"}})), 401);
  EXPECT_EQ(status(request({{"cookie", "xname=biscuit"}})), 401);
}

TEST_F(Accessible, WritesNeedAnOriginOrTheTokenItself) {
  HttpRequest write = request({{"cookie", "name=biscuit"}, {"content-type", "application/json"}});
  write.method = "POST";
  EXPECT_EQ(status(write), 403);
  write.headers["origin"] = "http://127.0.0.1:80";
  EXPECT_EQ(status(write), 200);
  EXPECT_EQ(status(write, true), 403);
  write.headers["origin"] = "http://127.0.0.1:81";
  EXPECT_EQ(status(write), 403);
}

TEST_F(Accessible, TheViewersTokenOnlyReads) {
  EXPECT_EQ(status(request({{"authorization", "Bearer look"}})), 200);
  EXPECT_EQ(status(request({{"cookie", "name=crumb"}})), 200);
  EXPECT_EQ(status(request({{"cookie", "name=look"}})), 401);
  for (const char* key : {"Bearer look", "Bearer secret", "Bearer secre"}) {
    HttpRequest write = request({{"authorization", key}, {"content-type", "application/json"}});
    write.method = "POST";
    EXPECT_EQ(status(write), key == std::string("Bearer secret") ? 200 : key[7] == 'l' ? 403 : 401);
  }
  // Whoever has both may write; a cookie of the viewer beside the token does not take that away.
  HttpRequest both = request({{"authorization", "Bearer secret"},
                              {"cookie", "name=crumb"},
                              {"content-type", "application/json"}});
  both.method = "POST";
  EXPECT_EQ(status(both), 200);
}

TEST_F(Accessible, HostsAreNamesAndPatternsOfOneLabel) {
  AccessOptions options;
  options.writer = {"secret", "biscuit"};
  options.hosts = {"*.Example.org", "[::1]"};
  const Access access(options);
  const auto status_of = [&](const char* host) {
    HttpRequest asked = request({{"host", host}, {"authorization", "Bearer secret"}});
    const auto refusal = access.refuse(asked);
    return refusal ? refusal->status : 200;
  };
  for (const char* fine : {"a.example.org", "A.EXAMPLE.ORG:8490", "[::1]", "[::1]:1"}) {
    EXPECT_EQ(status_of(fine), 200) << fine;
  }
  for (const char* wrong :
       {"example.org", ".example.org", "a.b.example.org", "a.example.org.evil", "*", ""}) {
    EXPECT_EQ(status_of(wrong), 421) << wrong;
  }
}

TEST(Access, BasePathsArePathsOfAnAddress) {
  EXPECT_EQ(checked_base_path(""), "");
  EXPECT_EQ(checked_base_path("/"), "");
  EXPECT_EQ(checked_base_path("rtrain/"), "/rtrain");
  EXPECT_EQ(checked_base_path("/a/b"), "/a/b");
  for (const char* wrong : {"/..", "/a b", "/a//b", "/a\r\nb", "/a;b"}) {
    EXPECT_THROW(checked_base_path(wrong), Error) << wrong;
  }
}

std::vector<SeriesPoint> ramp(size_t count) {
  std::vector<SeriesPoint> out;
  for (size_t i = 0; i < count; ++i) {
    out.push_back({.step = static_cast<int64_t>(i), .time_ms = 0, .value = static_cast<double>(i)});
  }
  return out;
}

TEST(Curve, PartsAreExact) {
  auto points = ramp(1000);
  points[777].value = 1e9;
  points[3].value = std::nan("");
  const auto parts = curve_parts(points, 10);
  ASSERT_EQ(parts.size(), 10U);
  EXPECT_EQ(parts[7].largest, 1e9);
  EXPECT_EQ(parts[7].least, 700);
  EXPECT_EQ(parts[0].nonfinite, 1U);
  EXPECT_DOUBLE_EQ(parts[0].mean, (99 * 100 / 2 - 3) / 99.0);
  EXPECT_EQ(parts[9].step, 900);
}

TEST(Curve, FewPointsStayThemselves) {
  EXPECT_TRUE(curve_parts({}, 5).empty());
  const auto points = ramp(7);
  EXPECT_EQ(curve_parts(points, 7).size(), 7U);
  EXPECT_EQ(curve_parts(points, 6).size(), 4U);
  EXPECT_EQ(curve_parts(points, 1)[0].count, 7U);
  EXPECT_EQ(describe_curve(curve_parts(points, 100)).find("max"), nullptr);
}

TEST(Curve, WhatIsNotFiniteIsNoNumber) {
  const std::vector<SeriesPoint> points{{0, 0, std::nan("")}, {1, 0, INFINITY}};
  const Map curve = describe_curve(curve_parts(points, 1));
  EXPECT_TRUE(curve["min"].as_list()[0].is_nil());
  EXPECT_EQ(curve["nonfinite"].as_list()[0], Value(2));
}

}  // namespace
}  // namespace rtrain
