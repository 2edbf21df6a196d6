// Where the executable keeps the Lua modules, the engine and librtrain_arrow.so: their bytes are
// assembled in next to this file.
