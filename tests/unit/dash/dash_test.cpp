#include <gtest/gtest.h>

#include <cmath>

#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/text/base64.h"
#include "host/dash/api/api.h"
#include "host/dash/api/curve.h"
#include "host/dash/api/routes.h"
#include "host/dash/script_bundle.h"
#include "host/dash/server/access.h"
#include "host/http/file_body.h"
#include "host/http/http_parser.h"
#include "tests/unit/test_run.h"

namespace rtrain::dash {
namespace {

// Includes streams: everything that a route creates before it throws is destroyed exactly once.
TEST(Api, EveryRouteOfARunThatIsNotThereSaysSo) {
  TestRun run;
  for (const bool has_store : {false, true}) {
    if (has_store) run.open();
    const Api api(run.spec.storage_path);
    int num_routes = 0;
    for (const Route& route : all_routes()) {
      const std::string pattern = route.path;
      const size_t at = pattern.find("{run}");
      if (at == std::string::npos) continue;
      http::HttpRequest request;
      request.method = route.method;
      request.path = pattern.substr(0, at) + "NOTHERE" + pattern.substr(at + 5);
      request.may_write = true;
      request.body = "{}";
      for (int i = 0; i < 3; ++i) {
        const HttpReply reply = api.answer(request);
        EXPECT_EQ(reply.events, nullptr) << route.path;
        EXPECT_GE(reply.response.status, 400) << route.path;
        EXPECT_FALSE(from_json(reply.response.body)["error"]["message"].as_string().empty());
        if (pattern.ends_with("/events")) {
          EXPECT_EQ(reply.response.status, 404) << route.path;
        }
      }
      ++num_routes;
    }
    EXPECT_GT(num_routes, 20);
  }
}

TEST(HttpTarget, EscapesAreUndone) {
  const auto target = http::parse_target("/a%20b?x=1+2&x=%26&y&=z&&q=a=b");
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
    EXPECT_FALSE(http::parse_target(wrong)) << wrong;
  }
}

TEST(HttpParser, BytesMayComeOneByOne) {
  http::HttpParser parser;
  const std::string text =
      "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET /y HTTP/1.1\r\nHOST: "
      "b\r\n\r\n";
  std::vector<http::HttpRequest> found;
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
  http::HttpParser parser;
  parser.feed("GET / HTTP/1.1\r\nA\r\n\r\nGET /y HTTP/1.1\r\nHost: b\r\n\r\n");
  EXPECT_FALSE(parser.next());
  EXPECT_EQ(parser.refused(), 400);
  EXPECT_FALSE(parser.next());
}

TEST(HttpParser, ChunksAreRefusedBeforeTheyAreRead) {
  http::HttpParser parser;
  parser.feed("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_FALSE(parser.next());
  EXPECT_EQ(parser.refused(), 400);
}

TEST(HttpParser, ALongHeaderIsRefusedBeforeItsEnd) {
  http::HttpParser parser;
  parser.feed("GET / HTTP/1.1\r\nA: " + std::string(2 * http::kMaxHeaderBytes, 'x'));
  EXPECT_FALSE(parser.next());
  EXPECT_EQ(parser.refused(), 431);
}

class Accessible : public testing::Test {
 protected:
  static http::HttpRequest request(std::map<std::string, std::string> headers) {
    http::HttpRequest out;
    out.method = "GET";
    out.path = "/api/runs";
    headers.emplace("host", "127.0.0.1:80");
    out.headers = std::move(headers);
    return out;
  }
  static int status(http::HttpRequest request, bool read_only = false) {
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
  http::HttpRequest write =
      request({{"cookie", "name=biscuit"}, {"content-type", "application/json"}});
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
    http::HttpRequest write =
        request({{"authorization", key}, {"content-type", "application/json"}});
    write.method = "POST";
    EXPECT_EQ(status(write), key == std::string("Bearer secret") ? 200 : key[7] == 'l' ? 403 : 401);
  }
  // A request with both a token and a viewer's cookie may write.
  http::HttpRequest both = request({{"authorization", "Bearer secret"},
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
    http::HttpRequest asked = request({{"host", host}, {"authorization", "Bearer secret"}});
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

store::SeriesSummary summary_of(const std::vector<store::SeriesPoint>& points) {
  store::SeriesSummary out;
  for (const store::SeriesPoint& point : points) out.add(point);
  return out;
}

TEST(Curve, ColumnsOfSeveralPointsHaveExtremaAndMeans) {
  const std::vector<store::SeriesSummary> columns{
      summary_of({{3, 30, 1}, {4, 40, 9}, {5, 50, 2}, {6, 60, std::nan("")}}),
      summary_of({{7, 70, 5}})};
  const Map curve = describe_curve(columns);
  EXPECT_EQ(curve["steps"], Value(List{3, 7}));
  EXPECT_EQ(curve["times"], Value(List{30, 70}));
  EXPECT_EQ(curve["min"], Value(List{1.0, 5.0}));
  EXPECT_EQ(curve["max"], Value(List{9.0, 5.0}));
  EXPECT_EQ(curve["mean"], Value(List{4.0, 5.0}));
  EXPECT_EQ(curve["counts"], Value(List{4, 1}));
  EXPECT_EQ(curve["nonfinite"], Value(List{1, 0}));
}

TEST(Curve, PointsAreThemselves) {
  const std::vector<store::SeriesSummary> columns{summary_of({{3, 30, 1}}),
                                                  summary_of({{4, 40, 2}})};
  EXPECT_EQ(describe_curve(columns).find("max"), nullptr);
  EXPECT_EQ(describe_curve({})["steps"], Value(List{}));
}

TEST(Curve, WhatIsNotFiniteIsNoNumber) {
  const std::vector<store::SeriesSummary> columns{
      summary_of({{0, 0, std::nan("")}, {1, 0, INFINITY}})};
  const Map curve = describe_curve(columns);
  EXPECT_TRUE(curve["min"].as_list()[0].is_nil());
  EXPECT_TRUE(curve["mean"].as_list()[0].is_nil());
  EXPECT_EQ(curve["nonfinite"].as_list()[0], Value(2));
}

TEST(ByteRange, OneRangeOfBytes) {
  const auto range = [](std::string_view header) {
    const auto out = http::parse_range(header, 10);
    return out ? std::pair(out->begin, out->end) : std::pair<int64_t, int64_t>(-1, -1);
  };
  EXPECT_EQ(range("bytes=0-9"), std::pair(0L, 10L));
  EXPECT_EQ(range("bytes=3-3"), std::pair(3L, 4L));
  EXPECT_EQ(range("bytes=9-"), std::pair(9L, 10L));
  EXPECT_EQ(range("bytes=-1"), std::pair(9L, 10L));
  EXPECT_EQ(range("bytes=-99"), std::pair(0L, 10L));
  EXPECT_EQ(range("bytes=10-"), std::pair(0L, 0L));
  EXPECT_EQ(range("bytes=-0"), std::pair(0L, 0L));
  for (const char* wrong :
       {"", "bytes", "bytes=", "bytes=-", "bytes=1", "bytes=2-1", "bytes=+1-2", "bytes=1-2,4-5",
        "bytes=0x1-2", "items=1-2", "bytes=99999999999999999999-"}) {
    EXPECT_FALSE(http::parse_range(wrong, 10)) << wrong;
  }
}

TEST(ScriptBundle, FilesBecomeFunctionsInTheOrderOfTheirImports) {
  const std::vector<NamedText> files = {
      {"main.js", "import {a, B} from './part/x.js';\nimport {c} from './y.js';\na(c);\n"},
      {"part/x.js",
       "import {c} from '../y.js';\nexport const a = (v) => v + c;\nexport class B {\n}\n"},
      {"y.js", "const own = 1;\nexport const c = own;\n"}};
  const std::string text = bundle_scripts(files, "main.js");
  EXPECT_LT(text.find("modules['y.js'] ="), text.find("modules['part/x.js'] ="));
  EXPECT_LT(text.find("modules['part/x.js'] ="), text.find("modules['main.js'] ="));
  EXPECT_NE(text.find("const {a, B} = modules['part/x.js'];"), std::string::npos);
  EXPECT_NE(text.find("return {a, B};"), std::string::npos);
  EXPECT_EQ(text.find("import "), std::string::npos);
  EXPECT_EQ(text.find("export "), std::string::npos);
  EXPECT_EQ(text.find("modules['y.js'] ="), text.rfind("modules['y.js'] =")) << "once";
}

TEST(ScriptBundle, CommentsAreLeftOut) {
  const std::vector<NamedText> files = {{"main.js",
                                         "// one\n/** two */\n  /** three\n  four\n      five "
                                         "*/\nsix(); // seven\n/** @type {a} */ (eight);\n"}};
  EXPECT_NE(bundle_scripts(files, "main.js").find("(() => {\nsix(); // seven\n/** @type"),
            std::string::npos);
}

TEST(ScriptBundle, WhatItDoesNotUnderstandIsRefused) {
  for (const char* wrong :
       {"import a from './y.js';", "import {a} from './none.js';", "import {a} from './main.js';",
        "export default 1;", "export {a};", "const a = '</script>';", "a(); // <!-- comment"}) {
    const std::vector<NamedText> files = {{"main.js", wrong}, {"y.js", ""}};
    EXPECT_THROW(bundle_scripts(files, "main.js"), Error) << wrong;
  }
}

TEST(Base64, OfAllLengths) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(to_base64(std::string_view("\xff\0\xfe", 3)), "/wD+");
}

}  // namespace
}  // namespace rtrain::dash
