# Hostile guests: R scripts, some with a C program, compiled here because the sandbox has no compiler. Their files are put
# beside the test program, so that everything can be copied elsewhere together.
set(CASES ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/sandbox_cases)
file(GLOB CASE_SCRIPTS CONFIGURE_DEPENDS tests/sandbox_cases/scripts/*.R)
file(GLOB CASE_PROGRAMS CONFIGURE_DEPENDS tests/sandbox_cases/programs/*.c)
file(GLOB CASE_HEADERS CONFIGURE_DEPENDS tests/sandbox_cases/programs/*.h)
set(CASE_FILES)
foreach(script ${CASE_SCRIPTS})
  get_filename_component(name ${script} NAME)
  add_custom_command(OUTPUT ${CASES}/scripts/${name} COMMAND ${CMAKE_COMMAND} -E copy ${script} ${CASES}/scripts/${name}
                     DEPENDS ${script})
  list(APPEND CASE_FILES ${CASES}/scripts/${name})
endforeach()
foreach(program ${CASE_PROGRAMS})
  get_filename_component(name ${program} NAME_WE)
  # Without the flags of our own programs: a sanitizer would be one more thing in the way.
  set(form -shared -fPIC)
  set(out ${CASES}/programs/${name}.so)
  if(name STREQUAL brought OR name STREQUAL hidden)
    set(form -static)
    set(out ${CASES}/programs/${name})
  endif()
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CASES}/programs
    COMMAND ${CMAKE_C_COMPILER} -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror -O1 ${form} ${program} -o ${out}
    DEPENDS ${program} ${CASE_HEADERS})
  list(APPEND CASE_FILES ${out})
endforeach()
add_custom_target(sandbox_case_files DEPENDS ${CASE_FILES})

remotist_layer(sandbox_cases tests/sandbox_cases standard volunteer_sandbox doctest::doctest)
# sandbox_guarded links only the parts without doctest.
set_target_properties(sandbox_cases PROPERTIES UNITY_BUILD OFF)
target_compile_definitions(sandbox_cases PRIVATE REMOTIST_R_HOME="${R_HOME}")
add_executable(sandbox_guarded tests/sandbox_cases/main.cc)
target_link_libraries(sandbox_guarded PRIVATE sandbox_cases warnings)
file(GLOB SANDBOX_TESTS CONFIGURE_DEPENDS tests/sandbox_cases/*_test.cc)
add_executable(sandbox_tests tests/support/doctest_main.cc ${SANDBOX_TESTS})
target_link_libraries(sandbox_tests PRIVATE sandbox_cases doctest::doctest warnings)
add_dependencies(sandbox_tests sandbox_case_files sandbox_guarded)
if(REMOTIST_RUNNER)
  add_dependencies(sandbox_tests remotist-runner)
endif()
