std = "luajit"
max_line_length = 128
-- A method keeps its `self` even where it does not need it, and callbacks their parameters.
unused_args = false
self = false
-- A method defined inside a method has a self of its own.
ignore = {"432/self"}
-- luaunit finds test classes by their global names.
files["tests/**/*_test.lua"] = {allow_defined_top = true}
-- Globals of a script travel to the workers: that is what these tests are about.
files["tests/modules/base/closure_test.lua"] = {
  globals = {"print_twice", "script_value", "script_helper", "script_table", "answer"}, max_line_length = 130,
}
