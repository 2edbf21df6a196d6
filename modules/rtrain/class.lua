-- rtrain/class.lua: classes with single inheritance, as nn.Module, Dataset and the configs use them.

return require 'base.class'
