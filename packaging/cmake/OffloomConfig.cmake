# find_package(Offloom): offloom_target(TARGET [JIT] [DEVICES TRIPLE...]) builds a target's OpenMP regions for devices, with Offloom's tools
# in the place of LLVM's. It works from wherever the installation lies.
get_filename_component(OFFLOOM_PREFIX "${CMAKE_CURRENT_LIST_FILE}" REALPATH)
get_filename_component(OFFLOOM_PREFIX "${OFFLOOM_PREFIX}/../../../.." ABSOLUTE)
set(OFFLOOM_INCLUDE_DIR "${OFFLOOM_PREFIX}/include")
# The function is known in every folder of the project, variables only below the one that is being read here.
set_property(GLOBAL PROPERTY OFFLOOM_PREFIX "${OFFLOOM_PREFIX}")

function(offloom_target target)
  cmake_parse_arguments(PARSE_ARGV 1 offloom "JIT" "" "DEVICES")
  if(offloom_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "offloom_target(${target}): `${offloom_UNPARSED_ARGUMENTS}` is neither JIT nor DEVICES TRIPLE...")
  endif()
  # An empty variable: what was meant to be in it, nobody knows.
  if(offloom_KEYWORDS_MISSING_VALUES OR (DEFINED offloom_DEVICES AND "${offloom_DEVICES}" STREQUAL ""))
    message(FATAL_ERROR "offloom_target(${target}): no triple follows DEVICES; name one, or leave DEVICES out for x86_64-pc-linux-gnu")
  endif()
  set(major @LLVM_MAJOR@)
  get_property(prefix GLOBAL PROPERTY OFFLOOM_PREFIX)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  foreach(language C CXX)
    if(language IN_LIST languages AND NOT (CMAKE_${language}_COMPILER_ID STREQUAL "Clang"
        AND CMAKE_${language}_COMPILER_VERSION MATCHES "^${major}\\."))
      message(FATAL_ERROR "offloom_target(${target}): this Offloom works with Clang ${major}, and the ${language} compiler is \
${CMAKE_${language}_COMPILER_ID} ${CMAKE_${language}_COMPILER_VERSION} (${CMAKE_${language}_COMPILER}). Configure an empty build folder \
with -DCMAKE_C_COMPILER=clang-${major} -DCMAKE_CXX_COMPILER=clang++-${major}")
    endif()
  endforeach()
  if(NOT offloom_DEVICES)
    set(offloom_DEVICES x86_64-pc-linux-gnu)
  endif()
  list(JOIN offloom_DEVICES "," devices)
  set(file offloom.cfg)
  if(offloom_JIT)
    set(file offloom-jit.cfg)
  endif()
  set(options "--config=${prefix}/share/offloom/${file}" -fopenmp "-fopenmp-targets=${devices}")
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    set(scope INTERFACE)
  else()
    set(scope PRIVATE)
  endif()
  # Device code of a static library is linked where the library is used: whoever links it needs the options.
  set(link_scope ${scope})
  if(type MATCHES "^(STATIC|OBJECT)_LIBRARY$")
    set(link_scope PUBLIC)
  endif()
  # Clang's options are for Clang: other languages of the target have other compilers.
  target_compile_options(${target} ${scope} "$<$<COMPILE_LANGUAGE:C,CXX>:${options}>")
  if(CMAKE_VERSION VERSION_LESS 3.18)
    # It cannot tell who links.
    target_link_options(${target} ${link_scope} ${options})
  else()
    target_link_options(${target} ${link_scope} "$<$<LINK_LANGUAGE:C,CXX>:${options}>")
  endif()
  target_include_directories(${target} SYSTEM ${scope} "${prefix}/include")
endfunction()
