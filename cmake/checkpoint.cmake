# The checkpoint engine's native side as a library that Rscript loads: the tests drive it without the runner.
if(REMOTIST_RUNNER)
  file(GLOB CHECKPOINT_SOURCES CONFIGURE_DEPENDS volunteer/runner/checkpoint/*.cc)
  list(FILTER CHECKPOINT_SOURCES EXCLUDE REGEX "_test\\.cc$")
  # Not as the programs are linked.
  function(checkpoint_library NAME)
    add_library(${NAME} MODULE ${CHECKPOINT_SOURCES} volunteer/sandbox/checkpoint_file.cc core/json.cc core/sha256.cc
                               core/utf8.cc core/zstd.cc)
    target_include_directories(${NAME} PRIVATE ${CMAKE_SOURCE_DIR})
    target_include_directories(${NAME} SYSTEM PRIVATE ${R_INCLUDE_DIR})
    target_link_libraries(${NAME} PRIVATE ${R_LIBRARY} nlohmann_json::nlohmann_json PkgConfig::CRYPTO PkgConfig::ZSTD
                                          PkgConfig::XXHASH Threads::Threads warnings)
    target_compile_options(${NAME} PRIVATE -fPIC ${ARGN})
    set_target_properties(${NAME} PROPERTIES PREFIX "" SUFFIX ".so" LINK_OPTIONS "-Wl,-z,relro,-z,now"
                                             LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  endfunction()
  # R itself has no sanitizers.
  checkpoint_library(checkpoint_native -fno-sanitize=all)
  if(REMOTIST_SANITIZE)
    # tests/checkpoint/asan.sh loads their libraries before R.
    checkpoint_library(checkpoint_native_sanitized)
    set_target_properties(checkpoint_native_sanitized PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()

  file(GLOB CHECKPOINT_TESTS CONFIGURE_DEPENDS tests/checkpoint/*_test.cc)
  add_executable(checkpoint_tests tests/support/doctest_main.cc ${CHECKPOINT_TESTS} tests/watch/run_pair.cc
                                  tests/checkpoint/kept_checkpoints.cc volunteer/runner/watch/canonical_hash.cc)
  target_link_libraries(checkpoint_tests PRIVATE watched_run PkgConfig::XXHASH doctest::doctest warnings)
  target_compile_definitions(checkpoint_tests PRIVATE REMOTIST_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  # Code of jobs that misbehave, compiled here because the sandbox has no compiler.
  file(GLOB CHECKPOINT_CASES CONFIGURE_DEPENDS tests/checkpoint/cases/*.c)
  foreach(source ${CHECKPOINT_CASES})
    cmake_path(GET source STEM name)
    set(case ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/checkpoint_cases/${name}.so)
    add_custom_command(
      OUTPUT ${case}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/checkpoint_cases
      COMMAND ${CMAKE_C_COMPILER} -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Wno-unused-result -O1 -shared -fPIC ${source} -o ${case}
      DEPENDS ${source})
    list(APPEND CHECKPOINT_CASE_FILES ${case})
  endforeach()
  add_custom_target(checkpoint_case_files DEPENDS ${CHECKPOINT_CASE_FILES})
  add_dependencies(checkpoint_tests remotist-runner checkpoint_native checkpoint_case_files)

  add_executable(bench_unchanged bench/checkpoint/unchanged.cc)
  target_link_libraries(bench_unchanged PRIVATE volunteer_sandbox warnings)
  add_dependencies(bench_unchanged remotist-runner)

  add_executable(random_programs tests/checkpoint/random_programs.cc tests/watch/program.cc)
  target_include_directories(random_programs PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(random_programs PRIVATE warnings)
endif()
