std = "luajit"
max_line_length = 120
-- A method keeps its `self` even where it does not need it, and callbacks their parameters.
unused_args = false
