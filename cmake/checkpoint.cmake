# The checkpoint engine's native side as a library that Rscript loads: the tests drive it without the runner.
if(REMOTIST_RUNNER)
  file(GLOB CHECKPOINT_SOURCES CONFIGURE_DEPENDS volunteer/runner/checkpoint/*.cc)
  list(FILTER CHECKPOINT_SOURCES EXCLUDE REGEX "_test\\.cc$")
  add_library(checkpoint_native MODULE ${CHECKPOINT_SOURCES} core/sha256.cc core/zstd.cc)
  target_include_directories(checkpoint_native PRIVATE ${CMAKE_SOURCE_DIR})
  target_include_directories(checkpoint_native SYSTEM PRIVATE ${R_INCLUDE_DIR})
  target_link_libraries(checkpoint_native PRIVATE ${R_LIBRARY} PkgConfig::CRYPTO PkgConfig::ZSTD Threads::Threads warnings)
  # Not as the programs are linked: R itself has no sanitizers. tests/checkpoint/asan.sh loads their library before R.
  target_compile_options(checkpoint_native PRIVATE -fPIC)
  set_target_properties(checkpoint_native PROPERTIES PREFIX "" SUFFIX ".so" LINK_OPTIONS "-Wl,-z,relro,-z,now"
                                                     LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})

  file(GLOB CHECKPOINT_TESTS CONFIGURE_DEPENDS tests/checkpoint/*_test.cc)
  add_executable(checkpoint_tests tests/support/doctest_main.cc ${CHECKPOINT_TESTS} tests/watch/both_ways.cc
                                  volunteer/runner/watch/canonical_hash.cc)
  target_link_libraries(checkpoint_tests PRIVATE watched_run doctest::doctest warnings)
  target_compile_definitions(checkpoint_tests PRIVATE REMOTIST_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_dependencies(checkpoint_tests remotist-runner checkpoint_native)

  add_executable(random_programs tests/checkpoint/random_programs.cc tests/watch/program.cc)
  target_include_directories(random_programs PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(random_programs PRIVATE warnings)
endif()
