#include "host/text/template/chat_template.h"

#include <gtest/gtest.h>

#include "host/base/error.h"

namespace rtrain::text {
namespace {

std::string render(std::string_view source) {
  return ChatTemplate(source).render(Map{{"messages", List{Map{{"role", "user"}}}}});
}

std::string message_of(std::string_view source) {
  try {
    render(source);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(ChatTemplate, renders_what_templates_have) {
  EXPECT_EQ(render("{% for m in messages %}{{ m.role | upper }}{% endfor %}"), "USER");
  EXPECT_EQ(render("a\n  {% if true %}\nb\n  {% endif %}\nc\n"), "a\nb\nc");
}

TEST(ChatTemplate, another_construct_is_named_with_its_line) {
  EXPECT_EQ(message_of("\n{% macro x() %}{% endmacro %}"),
            "chat template, line 2: the tag 'macro' is not supported");
  EXPECT_EQ(message_of("{{ 1 | wordcount }}"),
            "chat template, line 1: the filter 'wordcount' is not supported for an integer");
  EXPECT_EQ(message_of("{{ lipsum() }}"),
            "chat template, line 1: the function 'lipsum' is not supported");
  EXPECT_EQ(message_of("{{ 1 is prime }}"),
            "chat template, line 1: the test 'prime' is not supported");
  EXPECT_EQ(message_of("{% if true %}"), "chat template, line 1: 'endif' is missing");
  EXPECT_EQ(message_of("{{ raise_exception('no') }}"), "chat template: no");
  EXPECT_EQ(message_of("{{ messages[0].x.y }}"),
            "chat template, line 1: 'x' is undefined: it has no 'y'");
}

TEST(ChatTemplate, hostile_templates_end) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "(";
  EXPECT_NE(message_of("{{ " + deep + " }}").find("nested deeper"), std::string::npos);
  EXPECT_NE(
      message_of("{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}"),
      "");
  const std::string doubled =
      "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ";
  for (const char* growth :
       {"ns.x ~ ns.x", "[ns.x, ns.x]", "ns.x | replace('a', ns.x)", "ns.x | list | join(ns.x)"}) {
    EXPECT_NE(message_of(doubled + growth + " %}{% endfor %}"), "") << growth;
  }
  std::string chain = "1";
  for (int i = 0; i < 100'000; ++i) chain += "+1";
  EXPECT_NE(message_of("{{ " + chain + " }}").find("more than 500 parts"), std::string::npos);
  EXPECT_NE(message_of("{{ range(10000000) }}").find("too long"), std::string::npos);
}

}  // namespace
}  // namespace rtrain::text
