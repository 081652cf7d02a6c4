# `make deb`: one Debian package with the program, the libraries, their headers, the manual page and the completion
# scripts. noisefloor-torch is not in it: it would depend on libtorch, which is larger than all the rest together, and
# the Debian package of libtorch has no stable binary interface. Who needs it builds it (-DNOISEFLOOR_WITH_TORCH=ON,
# make install).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME noisefloor)
set(CPACK_PACKAGE_VENDOR "The Noisefloor authors")
set(CPACK_PACKAGE_CONTACT "The Noisefloor authors <noisefloor@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL noisefloor)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_NOISEFLOOR_PACKAGE_NAME noisefloor)
set(CPACK_DEBIAN_NOISEFLOOR_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # what the program links
# What find_package(noisefloor) needs to compile and link against the libraries.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
    "libboost-dev, libfmt-dev, libssl-dev, zlib1g-dev, libsodium-dev, libsqlite3-dev, libpq-dev, pkg-config")
include(CPack)
