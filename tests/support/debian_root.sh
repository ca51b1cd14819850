# Sourced by drills that make a Debian root folder of their own with mmdebstrap.

# shellcheck source=deploy/apt_mirror.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../deploy/apt_mirror.sh"

# debian_root SUITE FOLDER PACKAGES: a root with these packages (comma separated) that reaches what this machine reaches.
debian_root() {
  local suite="$1" folder="$2" packages="$3" mirror file
  mirror="$(apt_mirror)"
  [ -n "$mirror" ] || { echo "no Debian mirror in /etc/apt" >&2; return 1; }
  mmdebstrap --quiet --variant=minbase --include="$packages" "$suite" "$folder" "deb $mirror $suite main" >&2 || return 1
  # Names, certificates, and the registries' settings.
  cp /etc/resolv.conf "$folder/etc/resolv.conf"
  cp -r /usr/local/share/ca-certificates/. "$folder/usr/local/share/ca-certificates/" 2>/dev/null || true
  for file in etc/pip.conf root/.config/pip/pip.conf root/.npmrc root/.config/go/env root/.cargo/config.toml root/.m2/settings.xml; do
    [ ! -f "/$file" ] || install -D -m 600 "/$file" "$folder/$file"
  done
}
