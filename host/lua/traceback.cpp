#include "host/lua/traceback.h"

#include <optional>
#include <vector>

#include "host/base/text/text.h"
#include "host/lua/embed.h"

namespace rtrain::lua {
namespace {

// The number of levels that are looked at on either side of a deep recursion.
constexpr int kInnerLevels = 60;
constexpr int kOuterLevels = 40;
// The number of lines of them that are shown.
constexpr size_t kInnerLines = 12;
constexpr size_t kOuterLines = 10;

bool has_level(lua_State* L, int level) {
  lua_Debug frame;
  return lua_getstack(L, level, &frame) != 0;
}

// Returns the number of levels. Each look walks the stack from its top, so this takes few looks.
int depth_of(lua_State* L) {
  int known = 0;
  int absent = 64;
  while (has_level(L, absent)) {
    known = absent;
    absent *= 2;
  }
  while (known + 1 < absent) {
    const int middle = known + (absent - known) / 2;
    (has_level(L, middle) ? known : absent) = middle;
  }
  return absent;
}

// Calls the function at the top with the level, and the text if it is given, and leaves its two
// results. When it raises, leaves nothing and returns false.
bool ask(lua_State* L, int level, const std::string* text) {
  lua_pushinteger(L, level);
  if (text != nullptr) lua_pushlstring(L, text->data(), text->size());
  if (lua_pcall(L, text != nullptr ? 2 : 1, 2, 0) == 0) return true;
  lua_pop(L, 1);
  return false;
}

// Takes the two results from the stack.
std::pair<std::string, std::string> take_texts(lua_State* L) {
  const auto text = [L](int index) {
    const char* found = lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : nullptr;
    return std::string(found == nullptr ? "" : found);
  };
  std::pair<std::string, std::string> out{text(-2), text(-1)};
  lua_pop(L, 2);
  return out;
}

std::string function_text(const lua_Debug& frame) {
  if (frame.name != nullptr) return cat("in function '", frame.name, "'");
  if (*frame.what == 'm') return "in main chunk";
  return cat("in function <line ", frame.linedefined, ">");
}

// Pushes the function `find` of the module. Returns false without it, and may then leave values on
// the stack.
bool push_finder(lua_State* L, const char* module) {
  lua_getglobal(L, "require");
  lua_pushstring(L, module);
  if (lua_pcall(L, 1, 1, 0) != 0 || !lua_istable(L, -1)) return false;
  lua_getfield(L, -1, "find");
  return lua_isfunction(L, -1);
}

class Walk {
 public:
  Walk(lua_State* L, const std::string& operation, bool may_ask) : L_(L), operation_(operation) {
    if (may_ask && push_finder(L_, "base.errors.tail_call")) finder_ = lua_gettop(L_);
  }

  void visit(int first, int last) {
    for (int level = first; level < last; ++level) {
      add_frame(level);
      add_ended(level);
    }
  }

  void add_gap(int levels) { lines_.push_back({cat("  ... (", levels, " frames)"), 1}); }

  Traceback finish(const std::string& context, const std::string& locals) {
    if (lines_.size() > kInnerLines + kOuterLines) shorten();
    std::string text = context.empty() ? "" : cat("  ", context);
    if (!locals.empty()) text += cat(text.empty() ? "  " : "\n  ", locals);
    const auto add = [&text](const std::string& line) {
      text += cat(text.empty() ? "" : "\n", line);
    };
    for (const Line& line : lines_) {
      add(line.count > 1 ? cat(line.text, " (", line.count, " times)") : line.text);
    }
    // Library frames alone say nothing: there is no script, as in `rtrain doc`.
    if (library_frames_ > 0 && !text.empty()) add(cat("  (+", library_frames_, " rtrain frames)"));
    return {.where = where_, .text = text, .slip = {}};
  }

 private:
  // Successive frames of a recursion are often the same.
  struct Line {
    std::string text;
    int count = 1;
  };

  void add_line(const std::string& position, const std::string& function) {
    if (where_.empty()) where_ = position;
    const std::string text = cat("  ", position, ": ", function);
    if (!lines_.empty() && lines_.back().text == text) {
      ++lines_.back().count;
    } else {
      lines_.push_back({text, 1});
    }
  }

  void add_frame(int level) {
    lua_Debug frame;
    if (lua_getstack(L_, level, &frame) == 0) return;
    lua_getinfo(L_, "Sln", &frame);
    if (frame.currentline < 0) return;
    if (is_library_source(frame.source)) {
      ++library_frames_;
    } else {
      add_line(cat(std::string_view(frame.short_src), ":", frame.currentline),
               function_text(frame));
    }
  }

  // Adds the function that ended in the call of the one at the level.
  void add_ended(int level) {
    if (finder_ == 0) return;
    lua_pushvalue(L_, finder_);
    if (!ask(L_, level, &operation_)) return;
    const auto [position, name] = take_texts(L_);
    if (!position.empty()) add_line(position, cat("in function '", name, "'"));
  }

  void shorten() {
    const auto first = lines_.begin() + kInnerLines;
    const auto last = lines_.end() - kOuterLines;
    const auto left_out = last - first;
    *first = {cat("  ... (", left_out, " lines)"), 1};
    lines_.erase(first + 1, last);
  }

  lua_State* const L_;
  const std::string& operation_;
  int finder_ = 0;
  int library_frames_ = 0;
  std::string where_;
  std::vector<Line> lines_;
};

// Returns what that function of base.errors returns; "" when it returns nothing or does not exist.
std::string said_by(lua_State* L, const char* function, int level, const std::string* operation) {
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_getfield(L, -1, "base.errors");
  if (!lua_istable(L, -1)) return "";
  lua_getfield(L, -1, function);
  return lua_isfunction(L, -1) && ask(L, level, operation) ? take_texts(L).first : "";
}

// Returns what is wrong with a method that was called with a dot, and where; two empty strings
// otherwise.
std::pair<std::string, std::string> find_slip(lua_State* L, int level) {
  const bool is_asked = push_finder(L, "base.errors.method_call") && ask(L, level, nullptr);
  return is_asked ? take_texts(L) : std::pair<std::string, std::string>();
}

thread_local bool is_asking = false;

// While this exists, errors have no traceback: the questions about a stack may raise some.
class Asking {
 public:
  Asking() { is_asking = true; }
  ~Asking() { is_asking = false; }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
};

}  // namespace

Traceback make_traceback(lua_State* L, int level, const std::string& operation) {
  const int top = lua_gettop(L);
  if (is_asking) return {};
  const Asking asking;
  const int depth = depth_of(L);
  // After a recursion that has used up the stack, the questions below cannot be asked.
  const bool is_deep = depth - level > kInnerLevels + kOuterLevels;
  const bool may_ask = !is_deep && lua_checkstack(L, 12) != 0;
  const std::string context = may_ask ? said_by(L, "context", level, nullptr) : "";
  lua_settop(L, top);
  const bool has_operation = may_ask && !operation.empty();
  const std::string locals = has_operation ? said_by(L, "locals", level, &operation) : "";
  lua_settop(L, top);
  const auto [slip, place] = may_ask ? find_slip(L, level) : std::pair<std::string, std::string>();
  lua_settop(L, top);
  Walk walk(L, operation, may_ask);
  if (!is_deep) {
    walk.visit(level, depth);
  } else {
    walk.visit(level, level + kInnerLevels);
    walk.add_gap(depth - level - kInnerLevels - kOuterLevels);
    walk.visit(depth - kOuterLevels, depth);
  }
  lua_settop(L, top);
  Traceback out = walk.finish(context, locals);
  out.slip = slip;
  if (!place.empty()) out.where = place;
  return out;
}

std::string recursion_place(lua_State* L) {
  const int top = lua_gettop(L);
  std::string out;
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_getfield(L, -1, "base.errors.recursion");
  if (lua_istable(L, -1)) {
    lua_getfield(L, -1, "place");
    const bool is_known = lua_pcall(L, 0, 1, 0) == 0 && lua_type(L, -1) == LUA_TSTRING;
    if (is_known) out = lua_tostring(L, -1);
  }
  lua_settop(L, top);
  return out;
}

std::string with_hint(lua_State* L, int level, const std::string& message) {
  // After a stack overflow the stack has no space to ask about it.
  if (is_asking || message.ends_with("stack overflow")) return message;
  const int top = lua_gettop(L);
  if (lua_checkstack(L, 12) == 0) return message;
  const Asking asking;
  const bool is_asked = push_finder(L, "base.errors.hint") && ask(L, level, &message);
  const auto [hint, other] = is_asked ? take_texts(L) : std::pair<std::string, std::string>();
  lua_settop(L, top);
  if (!other.empty()) return other;
  return hint.empty() ? message : cat(message, " (", hint, ")");
}

}  // namespace rtrain::lua
