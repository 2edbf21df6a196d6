#include "host/text/template/chat_template.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/text/template/functions.h"
#include "host/text/template/lexer.h"
#include "host/text/template/parser.h"
#include "host/text/unicode/characters.h"

namespace rtrain::text {
namespace {

constexpr int64_t kMostSteps = 5'000'000;
constexpr int64_t kStepsPerRound = 5;  // of a loop, besides those of its body
constexpr size_t kLongestOutput = size_t{64} << 20;
constexpr int64_t kLongestRange = 100'000;

using Kind = Expression::Kind;
using Scope = std::map<std::string, Item>;

enum class Flow { kOn, kBreak, kContinue };

class Run {
 public:
  explicit Run(const Map& variables) {
    Scope globals;
    for (const auto& [key, value] : variables) globals[key_text(key)] = Item::of(value);
    scopes_.push_back(std::move(globals));
    scopes_.emplace_back();
  }

  std::string run(const Statements& statements) {
    execute(statements);
    return std::move(out_);
  }

 private:
  void count_step(int line, int64_t steps = 1) {
    steps_ += steps;
    if (steps_ > kMostSteps) refuse_template(line, "the template takes too many steps");
  }

  // An item that was made costs as many steps as it has parts.
  Item made(Item item, int line) {
    if (item.value) count_step(line, cost_of(*item.value));
    return item;
  }

  static int64_t cost_of(const Value& value) {
    if (value.is_string()) return 1 + static_cast<int64_t>(value.as_string().size() / 64);
    int64_t cost = 1;
    if (value.is_list()) {
      for (const Value& item : value.as_list()) cost += cost_of(item);
    }
    if (value.is_map()) {
      for (const auto& [key, item] : value.as_map()) cost += cost_of(item);
    }
    return cost;
  }

  void write(std::string_view text, int line) {
    if (out_.size() + text.size() > kLongestOutput) {
      refuse_template(line, "the template writes more than 64 MiB");
    }
    out_ += text;
  }

  Flow execute(const Statements& statements) {
    for (const Statement& statement : statements) {
      count_step(statement.line);
      const Flow flow = execute(statement);
      if (flow != Flow::kOn) return flow;
    }
    return Flow::kOn;
  }

  Flow execute(const Statement& statement) {
    switch (statement.kind) {
      case Statement::Kind::kText:
        write(statement.text, statement.line);
        return Flow::kOn;
      case Statement::Kind::kOutput:
        write(text_of(evaluate(*statement.value)), statement.line);
        return Flow::kOn;
      case Statement::Kind::kIf:
        return execute(is_true(evaluate(*statement.value)) ? statement.body : statement.other);
      case Statement::Kind::kFor:
        return loop(statement);
      case Statement::Kind::kSet:
        set(statement);
        return Flow::kOn;
      case Statement::Kind::kBreak:
        return Flow::kBreak;
      case Statement::Kind::kContinue:
        return Flow::kContinue;
      case Statement::Kind::kBlock:
        return execute(statement.body);
    }
    return Flow::kOn;
  }

  // Sets one name to the item, or several to its parts.
  void assign(const std::vector<std::string>& names, const Item& item, int line) {
    if (names.size() == 1) return assign(names[0], item, line);
    const std::vector<Item> parts = items_of(item, line);
    if (parts.size() != names.size()) {
      refuse_template(line, cat("expected ", names.size(), " values, got ", parts.size()));
    }
    for (size_t i = 0; i < names.size(); ++i) assign(names[i], parts[i], line);
  }

  void assign(const std::string& name, const Item& item, int line) {
    const size_t dot = name.find('.');
    if (dot == name.npos) {
      scopes_.back()[name] = item;
      return;
    }
    const Item space = look_up(name.substr(0, dot));
    if (!space.space) refuse_template(line, cat("'", name.substr(0, dot), "' is not a namespace"));
    (*space.space)[name.substr(dot + 1)] = item;
  }

  void set(const Statement& statement) {
    if (statement.value) {
      return assign(statement.names, evaluate(*statement.value), statement.line);
    }
    std::string before;
    before.swap(out_);
    scopes_.emplace_back();
    execute(statement.body);
    scopes_.pop_back();
    before.swap(out_);
    assign(statement.names, Item::of(std::move(before)), statement.line);
  }

  static Item loop_item(const std::vector<Item>& items, size_t i) {
    const auto count = static_cast<int64_t>(items.size());
    const auto at = static_cast<int64_t>(i);
    Map fields{{"index", at + 1},
               {"index0", at},
               {"first", i == 0},
               {"last", at + 1 == count},
               {"length", count},
               {"revindex", count - at},
               {"revindex0", count - at - 1}};
    if (i > 0 && items[i - 1].value) fields.set("previtem", *items[i - 1].value);
    if (i + 1 < items.size() && items[i + 1].value) fields.set("nextitem", *items[i + 1].value);
    return Item::of(std::move(fields));
  }

  Flow loop(const Statement& statement) {
    std::vector<Item> items = items_of(evaluate(*statement.value), statement.line);
    if (statement.condition) {
      scopes_.emplace_back();
      std::erase_if(items, [&](const Item& item) {
        assign(statement.names, item, statement.line);
        return !is_true(evaluate(*statement.condition));
      });
      scopes_.pop_back();
    }
    if (items.empty()) return execute(statement.other);
    for (size_t i = 0; i < items.size(); ++i) {
      count_step(statement.line, kStepsPerRound);
      scopes_.emplace_back();
      assign(statement.names, items[i], statement.line);
      scopes_.back()["loop"] = loop_item(items, i);
      const Flow flow = execute(statement.body);
      scopes_.pop_back();
      if (flow == Flow::kBreak) break;
    }
    return Flow::kOn;
  }

  Item look_up(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const auto found = scope->find(name);
      if (found != scope->end()) return found->second;
    }
    // A function is defined, and may be called by its name alone.
    for (const char* function : {"raise_exception", "namespace", "dict", "range", "strftime_now"}) {
      if (name == function) return {nullptr, std::make_shared<Scope>(), {}};
    }
    return Item::undefined(name);
  }

  Item evaluate(const Expression& e) {
    count_step(e.line);
    switch (e.kind) {
      case Kind::kLiteral:
        return {{std::shared_ptr<const Value>(), &e.literal}, {}, {}};
      case Kind::kName:
        return look_up(e.text);
      case Kind::kList: {
        List out;
        for (const auto& part : e.parts) out.push_back(plain(*part));
        return made(Item::of(std::move(out)), e.line);
      }
      case Kind::kMap: {
        Map out;
        for (size_t i = 0; i + 1 < e.parts.size(); i += 2) {
          out.set(text_of(evaluate(*e.parts[i])), plain(*e.parts[i + 1]));
        }
        return made(Item::of(std::move(out)), e.line);
      }
      case Kind::kUnary:
        return unary(e);
      case Kind::kBinary:
        return made(binary(e), e.line);
      case Kind::kConditional:
        if (is_true(evaluate(*e.parts[0]))) return evaluate(*e.parts[1]);
        return e.parts[2] ? evaluate(*e.parts[2]) : Item::undefined("");
      case Kind::kMember:
        return member(evaluate(*e.parts[0]), e.text, e.line);
      case Kind::kItem:
        return item(evaluate(*e.parts[0]), evaluate(*e.parts[1]), e.line);
      case Kind::kSlice:
        return made(slice(e), e.line);
      case Kind::kCall:
        return made(call(e), e.line);
      case Kind::kFilter:
        return made(call_filter(e.text, evaluate(*e.parts[0]), arguments_of(e)), e.line);
      case Kind::kTest:
        return Item::of(call_test(e.text, evaluate(*e.parts[0]), arguments_of(e)));
    }
    return {};
  }

  Value plain(const Expression& e) {
    const Item item = evaluate(e);
    if (item.space) refuse_template(e.line, "a namespace cannot be a part of a list or a map");
    return item.value ? *item.value : Value();
  }

  Arguments arguments_of(const Expression& e) {
    Arguments out;
    out.line = e.line;
    for (size_t i = 1; i < e.parts.size(); ++i) out.list.push_back(evaluate(*e.parts[i]));
    for (const auto& [name, value] : e.named) out.named[name] = evaluate(*value);
    return out;
  }

  static Item member(const Item& object, const std::string& name, int line) {
    Item out;
    if (find_member(object, name, out)) return out;
    if (object.is_undefined()) {
      refuse_template(line, cat("'", object.name, "' is undefined: it has no '", name, "'"));
    }
    return Item::undefined(name);
  }

  static Item item(const Item& object, const Item& key, int line) {
    if (key.is_string()) return member(object, key.value->as_string(), line);
    if (object.is_undefined()) {
      refuse_template(line, cat("'", object.name, "' is undefined: it has no items"));
    }
    if (!key.value || !key.value->is_int()) return Item::undefined("item");
    const std::vector<Item> items = object.is_map() ? std::vector<Item>() : items_of(object, line);
    int64_t at = key.value->as_int();
    if (at < 0) at += static_cast<int64_t>(items.size());
    if (at < 0 || at >= static_cast<int64_t>(items.size())) {
      return Item::undefined(cat("item ", key.value->as_int()));
    }
    return items[static_cast<size_t>(at)];
  }

  std::optional<int64_t> bound(const ExpressionPointer& e) {
    if (!e) return {};
    const Item item = evaluate(*e);
    if (!item.value || item.value->is_nil()) return {};
    if (!item.value->is_int()) refuse_template(e->line, cat("a slice by ", kind_of(item)));
    return item.value->as_int();
  }

  Item slice(const Expression& e) {
    const Item object = evaluate(*e.parts[0]);
    if (!object.is_list() && !object.is_string()) {
      refuse_template(e.line, cat("a slice of ", kind_of(object)));
    }
    const std::vector<Item> items = items_of(object, e.line);
    const auto size = static_cast<int64_t>(items.size());
    const int64_t step = bound(e.parts[3]).value_or(1);
    if (step == 0) refuse_template(e.line, "a slice with step 0");
    const auto place = [&](std::optional<int64_t> at, int64_t fallback) {
      if (!at) return fallback;
      const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
      return std::clamp(*at < 0 ? *at + size : *at, low, high);
    };
    int64_t at = place(bound(e.parts[1]), step > 0 ? 0 : size - 1);
    const int64_t end = place(bound(e.parts[2]), step > 0 ? size : -1);
    List list;
    std::string text;
    for (; step > 0 ? at < end : at > end; at += step) {
      const Item& each = items[static_cast<size_t>(at)];
      if (object.is_string()) {
        text += each.value->as_string();
      } else {
        list.push_back(*each.value);
      }
    }
    return object.is_string() ? Item::of(std::move(text)) : Item::of(std::move(list));
  }

  Item unary(const Expression& e) {
    const Item value = evaluate(*e.parts[0]);
    if (e.text == "not") return Item::of(!is_true(value));
    if (!value.value || !value.value->is_number()) {
      refuse_template(e.line, cat("'", e.text, "' of ", kind_of(value)));
    }
    if (e.text == "+") return value;
    return value.value->is_int() ? Item::of(-value.value->as_int())
                                 : Item::of(-value.value->as_float());
  }

  bool contains(const Item& container, const Item& item, int line) {
    if (container.is_string() && item.is_string()) {
      return container.value->as_string().find(item.value->as_string()) != std::string::npos;
    }
    for (const Item& each : items_of(container, line)) {
      if (each.value && item.value && equal(*each.value, *item.value)) return true;
    }
    return false;
  }

  Item binary(const Expression& e) {
    const std::string& op = e.text;
    const Item left = evaluate(*e.parts[0]);
    if (op == "and") return is_true(left) ? evaluate(*e.parts[1]) : left;
    if (op == "or") return is_true(left) ? left : evaluate(*e.parts[1]);
    const Item right = evaluate(*e.parts[1]);
    if (op == "~") return Item::of(text_of(left) + text_of(right));
    if (op == "in") return Item::of(contains(right, left, e.line));
    if (op == "not in") return Item::of(!contains(right, left, e.line));
    if (op == "==" || op == "!=") {
      const bool same = left.value && right.value ? equal(*left.value, *right.value)
                                                  : left.is_undefined() && right.is_undefined();
      return Item::of(same == (op == "=="));
    }
    if (left.is_string() && right.is_string()) {
      const std::string& a = left.value->as_string();
      const std::string& b = right.value->as_string();
      if (op == "+") return Item::of(a + b);
      if (op.find_first_of("<>") != op.npos) return compared(op, a.compare(b), 0);
    }
    if (left.is_list() && right.is_list() && op == "+") {
      List out = left.value->as_list();
      const List& more = right.value->as_list();
      out.insert(out.end(), more.begin(), more.end());
      return Item::of(std::move(out));
    }
    return arithmetic(e, left, right);
  }

  template <class T>
  static Item compared(const std::string& op, const T& a, const T& b) {
    if (op == "<") return Item::of(a < b);
    if (op == ">") return Item::of(a > b);
    return Item::of(op == "<=" ? a <= b : a >= b);
  }

  Item arithmetic(const Expression& e, const Item& left, const Item& right) {
    const auto is_number = [](const Item& i) {
      return i.value && (i.value->is_number() || i.value->is_bool());
    };
    if (!is_number(left) || !is_number(right)) {
      refuse_template(e.line, cat("'", e.text, "' of ", kind_of(left), " and ", kind_of(right)));
    }
    const auto number = [](const Item& i) {
      return i.value->is_bool() ? (i.value->as_bool() ? 1.0 : 0.0) : i.value->as_float();
    };
    const double a = number(left), b = number(right);
    const std::string& op = e.text;
    if (op.find_first_of("<>") != op.npos) return compared(op, a, b);
    if ((op == "/" || op == "//" || op == "%") && b == 0) refuse_template(e.line, "division by 0");
    double out = 0;
    if (op == "+") out = a + b;
    if (op == "-") out = a - b;
    if (op == "*") out = a * b;
    if (op == "/") out = a / b;
    if (op == "//") out = std::floor(a / b);
    if (op == "%") out = a - b * std::floor(a / b);
    if (op == "**") out = std::pow(a, b);
    const bool is_whole = !left.value->is_float() && !right.value->is_float() && op != "/";
    if (is_whole && std::abs(out) < 9e15) return Item::of(static_cast<int64_t>(out));
    return Item::of(out);
  }

  Item call(const Expression& e) {
    const Expression& callee = *e.parts[0];
    if (callee.kind == Kind::kMember) {
      const Item object = evaluate(*callee.parts[0]);
      if (object.is_undefined()) {
        refuse_template(e.line,
                        cat("'", object.name, "' is undefined: it has no '", callee.text, "'"));
      }
      return call_method(callee.text, object, arguments_of(e));
    }
    if (callee.kind != Kind::kName) refuse_template(e.line, "this call is not supported");
    return call_function(callee.text, arguments_of(e));
  }

  Item call_function(const std::string& name, const Arguments& arguments) {
    if (name == "raise_exception") {
      throw Error(Code::kArgument, cat("chat template: ", arguments.text(0, "message")));
    }
    if (name == "namespace") {
      Item out;
      out.space = std::make_shared<std::map<std::string, Item>>(arguments.named);
      return out;
    }
    if (name == "dict") {
      Map out;
      for (const auto& [key, item] : arguments.named) {
        out.set(key, item.value ? *item.value : Value());
      }
      return Item::of(std::move(out));
    }
    if (name == "range") return range(arguments);
    if (name == "strftime_now") {
      const std::time_t now = std::time(nullptr);
      std::tm local{};
      localtime_r(&now, &local);
      std::string out(512, '\0');
      out.resize(
          std::strftime(out.data(), out.size(), arguments.text(0, "format").c_str(), &local));
      return Item::of(std::move(out));
    }
    refuse_template(arguments.line, cat("the function '", name, "' is not supported"));
  }

  static Item range(const Arguments& arguments) {
    std::vector<int64_t> bounds;
    for (const Item& item : arguments.list) {
      if (!item.value || !item.value->is_int()) {
        refuse_template(arguments.line, cat("range of ", kind_of(item)));
      }
      bounds.push_back(item.value->as_int());
    }
    if (bounds.size() == 1) bounds.insert(bounds.begin(), 0);
    if (bounds.size() < 2 || (bounds.size() > 2 && bounds[2] == 0)) {
      refuse_template(arguments.line, "range: expected one to three integers");
    }
    const int64_t step = bounds.size() > 2 ? bounds[2] : 1;
    List out;
    for (int64_t i = bounds[0]; step > 0 ? i < bounds[1] : i > bounds[1]; i += step) {
      if (out.size() >= kLongestRange) refuse_template(arguments.line, "the range is too long");
      out.push_back(i);
    }
    return Item::of(std::move(out));
  }

  std::vector<Scope> scopes_;
  std::string out_;
  int64_t steps_ = 0;
};

}  // namespace

ChatTemplate::ChatTemplate(std::string_view source) : statements_(parse_template(source)) {}

std::string ChatTemplate::render(const Map& variables) const {
  return Run(variables).run(statements_);
}

}  // namespace rtrain::text
