"""A Jupyter kernel whose cells are Lua, run by `rtrain repl`. `rtrain-jupyter install` registers it."""
