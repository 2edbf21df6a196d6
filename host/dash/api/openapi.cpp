#include "host/dash/api/openapi.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "host/base/error.h"

namespace rtrain::dash {
namespace {

Map type(const char* name) { return Map{{"type", name}}; }

Map schema_of(ParameterType parameter) {
  switch (parameter) {
    case ParameterType::kString:
      return type("string");
    case ParameterType::kInteger:
      return type("integer");
    case ParameterType::kNumber:
      return type("number");
    case ParameterType::kBoolean:
      return type("boolean");
    case ParameterType::kStrings:
      return Map{{"type", "array"}, {"items", type("string")}};
  }
  RT_CHECK(false);
  return {};
}

Map parameter(const char* name, const char* where, Map schema, const char* description) {
  return Map{
      {"name", name}, {"in", where}, {"description", description}, {"schema", std::move(schema)}};
}

bool is_file(const Route& route) {
  return route.content == Content::kText || route.content == Content::kBytes;
}

List parameters_of(const Route& route) {
  List out;
  if (std::string_view(route.path).find("{run}") != std::string_view::npos) {
    out.emplace_back(Map{{"$ref", "#/components/parameters/run"}});
  }
  for (const Parameter& query : route.queries) {
    out.emplace_back(parameter(query.name, "query", schema_of(query.type), query.description));
  }
  if (is_file(route)) {
    out.emplace_back(parameter("Range", "header", type("string"),
                               "bytes=FIRST-LAST, bytes=FIRST- or bytes=-LENGTH"));
    out.emplace_back(parameter("If-Range", "header", type("string"),
                               "The ETag that the part must have; else the whole file is sent"));
  }
  return out;
}

Map media(const char* name, Map schema) { return Map{{name, Map{{"schema", std::move(schema)}}}}; }

Map binary() { return Map{{"type", "string"}, {"format", "binary"}}; }

Map content_of(const Route& route) {
  switch (route.content) {
    case Content::kJson:
      return media("application/json", type("object"));
    case Content::kEvents:
      return media("text/event-stream", type("string"));
    case Content::kText:
      return media("text/plain", type("string"));
    case Content::kBytes:
    case Content::kDownload:
      return media("application/octet-stream", binary());
    case Content::kMedia: {
      Map out = media("image/png", binary());
      out.set("audio/wav", Map{{"schema", binary()}});
      out.set("application/json", Map{{"schema", type("object")}});
      out.set("text/plain", Map{{"schema", type("string")}});
      return out;
    }
  }
  RT_CHECK(false);
  return {};
}

Map responses_of(const Route& route) {
  Map out{{"200", Map{{"description", route.result}, {"content", content_of(route)}}}};
  if (is_file(route)) {
    out.set("206", Map{{"description", "The part"}, {"content", content_of(route)}});
    out.set("304", Map{{"description", "The file has the ETag of If-None-Match"}});
    out.set("416", Map{{"description", "The file has no such part"}});
  }
  out.set("default", Map{{"$ref", "#/components/responses/Error"}});
  return out;
}

Map body_of(const Route& route) {
  Map properties;
  for (const Parameter& field : route.body) {
    Map schema = schema_of(field.type);
    schema.set("description", field.description);
    properties.set(field.name, std::move(schema));
  }
  Map schema{
      {"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  return Map{{"required", true}, {"content", media("application/json", std::move(schema))}};
}

Map operation_of(const Route& route) {
  Map out{{"summary", route.summary}};
  if (List parameters = parameters_of(route); !parameters.empty()) {
    out.set("parameters", std::move(parameters));
  }
  if (!route.body.empty()) out.set("requestBody", body_of(route));
  out.set("responses", responses_of(route));
  return out;
}

Map components() {
  Map run = parameter("run", "path", type("string"),
                      "A name, a unique beginning of a name or id, last, or best:METRIC[:min|max]");
  run.set("required", true);
  return Map{
      {"parameters", Map{{"run", std::move(run)}}},
      {"responses", Map{{"Error", Map{{"description", "error: code, message"},
                                      {"content", media("application/json", type("object"))}}}}},
      {"securitySchemes",
       Map{{"cookie", Map{{"type", "apiKey"}, {"in", "cookie"}, {"name", "rtrain"}}},
           {"bearer", Map{{"type", "http"}, {"scheme", "bearer"}}},
           {"token", Map{{"type", "apiKey"}, {"in", "query"}, {"name", "token"}}}}}};
}

}  // namespace

Value openapi_document(std::span<const Route> routes) {
  Map paths;
  for (const Route& route : routes) {
    std::string method = route.method;
    std::transform(method.begin(), method.end(), method.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    if (paths.find(route.path) == nullptr) paths.set(route.path, Map{});
    paths.find(route.path)->as_map().set(method, operation_of(route));
  }
  return Map{
      {"openapi", "3.1.0"},
      {"info", Map{{"title", "rtrain dash"},
                   {"version", "1"},
                   {"description",
                    "Runs, metrics, logs and checkpoints of a store. Times are RFC 3339 UTC. "
                    "A POST needs an Origin of the dashboard, or the token as a bearer token, "
                    "and a token that may write."}}},
      {"security", List{Map{{"cookie", List{}}}, Map{{"bearer", List{}}}, Map{{"token", List{}}}}},
      {"paths", std::move(paths)},
      {"components", components()}};
}

}  // namespace rtrain::dash
