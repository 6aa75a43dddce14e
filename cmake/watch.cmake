# Watched variables: scripts in a real sandbox.
add_library(watched_run STATIC tests/watch/watched_run.cc)
target_link_libraries(watched_run PUBLIC volunteer_sandbox PRIVATE warnings)
add_executable(watch_show tests/watch/show.cc)
target_link_libraries(watch_show PRIVATE watched_run warnings)

file(GLOB WATCH_TESTS CONFIGURE_DEPENDS tests/watch/*_test.cc)
add_executable(watch_tests tests/support/doctest_main.cc ${WATCH_TESTS} tests/watch/run_pair.cc tests/watch/program.cc
               volunteer/runner/watch/canonical_hash.cc)
target_link_libraries(watch_tests PRIVATE watched_run PkgConfig::XXHASH doctest::doctest warnings)
target_compile_definitions(watch_tests PRIVATE REMOTIST_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
# A guest that forges frames, compiled here because the sandbox has no compiler.
set(FORGER ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/watch_cases/forged_changes.so)
add_custom_command(
  OUTPUT ${FORGER}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/watch_cases
  COMMAND ${CMAKE_C_COMPILER} -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Wno-unused-result -O1 -shared -fPIC
          ${CMAKE_SOURCE_DIR}/tests/watch/programs/forged_changes.c -o ${FORGER}
  DEPENDS tests/watch/programs/forged_changes.c)
add_custom_target(watch_case_files DEPENDS ${FORGER})
add_dependencies(watch_tests watch_case_files)
if(REMOTIST_RUNNER)
  add_dependencies(watch_show remotist-runner)
  add_dependencies(watch_tests remotist-runner)
endif()

add_executable(bench_watch bench/watch/watch.cc)
target_link_libraries(bench_watch PRIVATE volunteer_sandbox warnings)
