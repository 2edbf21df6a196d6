# Writes a CTest file with an entry for each suite of a GoogleTest program: the tests of a suite share one process.
# In script mode: cmake -DPROGRAM=… -DOUT=… -DPROPERTIES=… -P ListSuites.cmake
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "(^|\n)[A-Za-z_][A-Za-z0-9_/]*\\." suites "${listed}")
set(entries "")
foreach(suite ${suites})
  string(STRIP "${suite}" suite)
  string(REGEX REPLACE "\\.$" "" suite "${suite}")
  string(APPEND entries "add_test([==[${suite}]==] [==[${PROGRAM}]==] [==[--gtest_filter=${suite}.*]==])\n"
         "set_tests_properties([==[${suite}]==] PROPERTIES ${PROPERTIES})\n")
endforeach()
file(WRITE ${OUT} "${entries}")
