# The checkpoint engine's native side as a library that Rscript loads: the tests drive it without the runner.
if(REMOTIST_RUNNER)
  file(GLOB CHECKPOINT_SOURCES CONFIGURE_DEPENDS volunteer/runner/checkpoint/*.cc)
  list(FILTER CHECKPOINT_SOURCES EXCLUDE REGEX "_test\\.cc$")
  add_library(checkpoint_native MODULE ${CHECKPOINT_SOURCES})
  target_include_directories(checkpoint_native PRIVATE ${CMAKE_SOURCE_DIR})
  target_include_directories(checkpoint_native SYSTEM PRIVATE ${R_INCLUDE_DIR})
  target_link_libraries(checkpoint_native PRIVATE ${R_LIBRARY} Threads::Threads warnings)
  set_target_properties(checkpoint_native PROPERTIES PREFIX "" SUFFIX ".so" POSITION_INDEPENDENT_CODE ON
                                                     LIBRARY_OUTPUT_DIRECTORY ${CMAKE_SOURCE_DIR}/build/bin)
endif()
