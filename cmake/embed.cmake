# mesh_embed(ROOM file.sql…): each file's text as a C++ raw string in a generated header of the room,
# `<room>/file.sql.h`, to be included as an initializer. A changed file configures again.
function(mesh_embed room)
  foreach(name ${ARGN})
    set(source ${CMAKE_SOURCE_DIR}/src/${room}/${name})
    set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    file(READ ${source} text)
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/${room}/${name}.h
         CONTENT "R\"embedded(@text@)embedded\"\n" @ONLY)
  endforeach()
  target_include_directories(mesh_${room} PRIVATE ${CMAKE_BINARY_DIR}/generated)
endfunction()
