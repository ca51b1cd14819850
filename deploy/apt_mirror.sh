# Sourced by scripts that make a Debian root folder of their own with mmdebstrap.

# apt_mirror: the mirror that this machine's own apt uses; empty: none.
apt_mirror() {
  cat /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list /etc/apt/sources.list 2>/dev/null |
    sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb  *\(\[[^]]*\] *\)*\([^ ]*\) .*/\2/p' | sed -n 1p || true
}
