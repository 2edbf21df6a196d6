// Where the executable keeps the Lua modules and the engine: their bytes are assembled in beside
// this file.
