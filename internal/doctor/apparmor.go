package doctor

import (
	"fmt"
	"strings"
)

// ProfilePath is where the AppArmor profile belongs.
const ProfilePath = "/etc/apparmor.d/carrel"

// Profile is an AppArmor profile that lets the program at self make user
// namespaces and leaves it unconfined otherwise, as distributions ship them for
// browsers. Whoever can replace that file gets the same right, so it belongs
// where only root writes. A path with bytes that the profile language cannot
// hold is an error.
func Profile(self string) (string, error) {
	if !strings.HasPrefix(self, "/") {
		return "", fmt.Errorf("making an AppArmor profile: %q is not an absolute path", self)
	}
	var path strings.Builder
	for i := 0; i < len(self); i++ {
		switch c := self[i]; {
		case c < 0x20 || c >= 0x7f:
			return "", fmt.Errorf("making an AppArmor profile: %q holds a byte that cannot stand in one; install carrel at a plain path such as /usr/local/bin/carrel", self)
		case strings.IndexByte(`*?[]{}^\"@`, c) >= 0:
			path.WriteByte('\\')
			path.WriteByte(c)
		default:
			path.WriteByte(c)
		}
	}
	return fmt.Sprintf(`# Lets carrel make user namespaces; it builds its walls from them.
# Install carrel where only root can write: whoever can replace the file below
# gets the same right.
abi <abi/4.0>,
include <tunables/global>

profile carrel "%s" flags=(unconfined) {
  userns,
  include if exists <local/carrel>
}
`, path.String()), nil
}

// apparmorRestricts says whether AppArmor takes the rights away that a new user
// namespace gives, for programs without a profile (Ubuntu from 23.10 on). It
// does not concern root.
func (p *patient) apparmorRestricts() bool {
	return p.UID != 0 && p.sysctl("kernel.apparmor_restrict_unprivileged_userns") == "1"
}

func (p *patient) apparmorFix() string {
	return "carrel doctor --print-apparmor | sudo tee " + ProfilePath + "\nsudo apparmor_parser -r " + ProfilePath
}
