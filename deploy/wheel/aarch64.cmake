# CMake toolchain: Debian's cross compiler for arm64, with the libraries of its multiarch packages.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# What the build makes and runs itself (embed_catalog). protoc and its gRPC plugin are programs of the build machine.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
# pkg-config knows the build machine's libraries alone unless told otherwise.
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
