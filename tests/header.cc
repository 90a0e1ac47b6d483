// Gives the precompiled header of tests a target of its own; see cmake/rooms.cmake.
