# mesh_room(NAME USES room… LIBS library…): src/NAME/*.cc as the library mesh_NAME, src/NAME/*_test.cc
# as the program NAME_test, each test known to CTest as NAME.Suite.Test with the label `unit`.
enable_testing()
include(GoogleTest)

function(mesh_room name)
  cmake_parse_arguments(ROOM "" "" "USES;LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|/main\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if(sources)
    add_library(mesh_${name} STATIC ${sources})
    target_include_directories(mesh_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
    set(scope PUBLIC)
    mesh_precompiled(mesh_${name})
  else()
    add_library(mesh_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  foreach(used ${ROOM_USES})
    target_link_libraries(mesh_${name} ${scope} mesh_${used})
  endforeach()
  target_link_libraries(mesh_${name} ${scope} ${ROOM_LIBS} Threads::Threads)
  if(tests)
    mesh_test(${name}_test LABEL unit SOURCES ${tests} LIBS mesh_${name})
  endif()
endfunction()

# All targets share one precompiled header (src/base/precompiled.h).
function(mesh_precompiled target)
  if(target STREQUAL "mesh_base")
    target_precompile_headers(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src/base/precompiled.h)
  else()
    target_precompile_headers(${target} REUSE_FROM mesh_base)
  endif()
endfunction()

# Tests and what they share are compiled without optimisation, which halves their share of a build;
# so they have a precompiled header of their own.
function(mesh_precompiled_test target)
  if(NOT TARGET mesh_test_header)
    add_library(mesh_test_header OBJECT ${CMAKE_SOURCE_DIR}/tests/header.cc)
    target_compile_options(mesh_test_header PRIVATE -O0)
    target_link_libraries(mesh_test_header PRIVATE mesh_base GTest::gtest)
    target_precompile_headers(mesh_test_header PRIVATE ${CMAKE_SOURCE_DIR}/src/base/precompiled.h <gtest/gtest.h>)
  endif()
  target_compile_options(${target} PRIVATE -O0)
  target_precompile_headers(${target} REUSE_FROM mesh_test_header)
endfunction()

# mesh_test(NAME LABEL label SOURCES … LIBS … [SERIAL]): a gtest program, its tests known to CTest.
function(mesh_test name)
  cmake_parse_arguments(TEST "SERIAL" "LABEL;TIMEOUT" "SOURCES;LIBS" ${ARGN})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 300)
  endif()
  add_executable(${name} ${TEST_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${TEST_LIBS} mesh_test_support GTest::gmock_main)
  target_compile_definitions(${name} PRIVATE MESH_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                                             MESH_BINARY_DIR="${CMAKE_BINARY_DIR}")
  mesh_precompiled_test(${name})
  # One CTest entry a program: a program that starts servers starts them once.
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES LABELS ${TEST_LABEL} TIMEOUT ${TEST_TIMEOUT}
                                          RUN_SERIAL "${TEST_SERIAL}")
endfunction()
