# Watched variables: scripts in a real guesthouse.
add_library(watched_run STATIC tests/watch/watched_run.cc)
target_link_libraries(watched_run PUBLIC volunteer_sandbox PRIVATE warnings)
add_executable(watch_show tests/watch/show.cc)
target_link_libraries(watch_show PRIVATE watched_run warnings)

file(GLOB WATCH_TESTS CONFIGURE_DEPENDS tests/watch/*_test.cc)
add_executable(watch_tests tests/support/doctest_main.cc ${WATCH_TESTS} tests/watch/both_ways.cc tests/watch/program.cc
               volunteer/runner/watch/canonical_hash.cc)
target_link_libraries(watch_tests PRIVATE watched_run doctest::doctest warnings)
target_compile_definitions(watch_tests PRIVATE REMOTIST_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
if(REMOTIST_RUNNER)
  add_dependencies(watch_show remotist-runner)
  add_dependencies(watch_tests remotist-runner)
endif()
