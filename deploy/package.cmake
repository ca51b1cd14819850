# What is installed beside the C++ client (component "client"), and the Debian package made of it:
#   cpack --config build/release/CPackConfig.cmake -B DIR      deploy/debian/build.sh does it
# A build with FLIGHTPLAN_STATIC=ON gives a package that needs glibc alone, and so installs on Debian 12 and later.
include(GNUInstallDirs)
set(package_doc "${CMAKE_INSTALL_DATADIR}/doc/flightplan")
install(TARGETS flightplan RUNTIME DESTINATION bin COMPONENT flightplan)
if(TARGET flightplan-probe)
  install(TARGETS flightplan-probe RUNTIME DESTINATION bin COMPONENT flightplan OPTIONAL)
endif()
install(FILES deploy/systemd/flightplan.service deploy/systemd/flightplan-front.service DESTINATION lib/systemd/system COMPONENT flightplan)
install(FILES deploy/systemd/flightplan.conf DESTINATION lib/tmpfiles.d COMPONENT flightplan)
install(FILES clients/slurm/flightplan.lua clients/slurm/job_submit.lua clients/slurm/cli_filter.lua clients/slurm/README.md
  DESTINATION "${CMAKE_INSTALL_DATADIR}/flightplan/slurm" COMPONENT flightplan)
install(FILES deploy/haproxy/strangers.cfg deploy/haproxy/front.cfg deploy/haproxy/front.lua deploy/haproxy/haproxy.cfg
  DESTINATION "${CMAKE_INSTALL_DATADIR}/flightplan/haproxy" COMPONENT flightplan)
install(FILES deploy/debian/config.yaml deploy/debian/front.env DESTINATION /etc/flightplan COMPONENT flightplan)
install(FILES LICENSE NOTICE CHANGELOG.md DESTINATION "${package_doc}" COMPONENT flightplan)
install(FILES deploy/debian/copyright DESTINATION "${package_doc}" COMPONENT flightplan)
# Written by the program itself; a program of another architecture runs by its emulator.
install(CODE "
  foreach(text IN ITEMS bash zsh fish man)
    set(words completion \${text})
    if(text STREQUAL man)
      set(words man)
    endif()
    execute_process(COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} \"${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/flightplan\" \${words}
      OUTPUT_FILE \"${CMAKE_BINARY_DIR}/flightplan.\${text}\" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  file(RENAME \"${CMAKE_BINARY_DIR}/flightplan.man\" \"${CMAKE_BINARY_DIR}/flightplan.1\")
  execute_process(COMMAND gzip -9nf \"${CMAKE_BINARY_DIR}/flightplan.1\" COMMAND_ERROR_IS_FATAL ANY)"
  COMPONENT flightplan)
install(FILES "${CMAKE_BINARY_DIR}/flightplan.1.gz" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT flightplan)
install(FILES "${CMAKE_BINARY_DIR}/flightplan.bash" RENAME flightplan
  DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT flightplan)
install(FILES "${CMAKE_BINARY_DIR}/flightplan.zsh" RENAME _flightplan
  DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions" COMPONENT flightplan)
install(FILES "${CMAKE_BINARY_DIR}/flightplan.fish"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT flightplan)
# Their texts are those of the Debian packages on this machine, so they are collected when a package is made.
install(CODE "
  execute_process(COMMAND \"${Python3_EXECUTABLE}\" \"${CMAKE_SOURCE_DIR}/deploy/third_party_notices.py\" deb
    \"${CMAKE_BINARY_DIR}/THIRD_PARTY_NOTICES.txt\" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND gzip -9nf \"${CMAKE_BINARY_DIR}/THIRD_PARTY_NOTICES.txt\" COMMAND_ERROR_IS_FATAL ANY)"
  COMPONENT flightplan)
install(FILES "${CMAKE_BINARY_DIR}/THIRD_PARTY_NOTICES.txt.gz" DESTINATION "${package_doc}" COMPONENT flightplan)

# Without the program's digest: it is stripped on its way into the package.
install(CODE "
  execute_process(COMMAND \"${Python3_EXECUTABLE}\" \"${CMAKE_SOURCE_DIR}/deploy/sbom.py\" deb -
    \"${CMAKE_BINARY_DIR}/flightplan.cdx.json\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT flightplan)
install(FILES "${CMAKE_BINARY_DIR}/flightplan.cdx.json" DESTINATION "${package_doc}" COMPONENT flightplan)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME flightplan)
set(CPACK_PACKAGE_CONTACT "The Flightplan authors <maintainers@flightplan.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};flightplan;flightplan;/")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "adduser, init-system-helpers")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libpq5, haproxy")
if(CMAKE_CROSSCOMPILING)  # otherwise it is this machine's
  string(REPLACE aarch64 arm64 architecture "${CMAKE_SYSTEM_PROCESSOR}")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE "${architecture}")
endif()
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "judges and plans MoE training launches before they are queued
The program flightplan answers on a terminal and serves the same answers over
gRPC: whether Megatron-LM, Megatron-Bridge or LoongForge will accept a launch,
what it changes, whether it fits, and the configuration to use.")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${CMAKE_SOURCE_DIR}/deploy/debian/postinst"
  "${CMAKE_SOURCE_DIR}/deploy/debian/prerm" "${CMAKE_SOURCE_DIR}/deploy/debian/postrm" "${CMAKE_SOURCE_DIR}/deploy/debian/conffiles")
set(CPACK_STRIP_FILES ON)
include(CPack)
