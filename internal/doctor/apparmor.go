package doctor

import (
	"fmt"
	"strings"
)

// ProfilePath is where the AppArmor profile belongs.
const ProfilePath = "/etc/apparmor.d/carrel"

// ProgramPath is where carrel belongs for everybody: only root writes there.
const ProgramPath = "/usr/local/bin/carrel"

// Profile is an AppArmor profile that lets the program at self make user
// namespaces and leaves it unconfined otherwise, as distributions ship them for
// browsers. The commands to load it stand in it. Whoever can replace the program
// gets the same right, so it belongs where only root writes. The profile
// language gives a meaning to many bytes, quoted or not; a path that has any but
// plain ones is an error.
func Profile(self string) (string, error) {
	if !strings.HasPrefix(self, "/") {
		return "", fmt.Errorf("making an AppArmor profile: %q is not an absolute path", self)
	}
	if i := strings.IndexFunc(self, func(r rune) bool { return !plainInProfile(r) }); i >= 0 || strings.Contains(self+"/", "/../") || strings.Contains(self+"/", "/./") || strings.Contains(self, "//") {
		return "", fmt.Errorf("making an AppArmor profile: %q holds what cannot stand in one; install carrel at a plain path such as %s", self, ProgramPath)
	}
	return fmt.Sprintf(`# Lets carrel make user namespaces; it builds its walls from them. To load it:
#
#   sudo install -m 0644 THIS_FILE %[2]s
#   sudo apparmor_parser -r %[2]s
#
# It is for AppArmor 4.0 and newer; older ones do not restrict user namespaces.
# Keep carrel where only root can write: whoever can replace the file below gets
# the same right.
abi <abi/4.0>,
include <tunables/global>

profile carrel "%[1]s" flags=(unconfined) {
  userns,
  include if exists <local/carrel>
}
`, self, ProfilePath), nil
}

// plainInProfile says whether a byte means itself between quotes: no pattern,
// no variable, no escape.
func plainInProfile(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._+-:=, ", r)
}

// apparmorRestricts says whether AppArmor takes the rights away that a new user
// namespace gives, for programs without a profile (Ubuntu from 23.10 on). It
// does not concern root.
func (m *Machine) apparmorRestricts() bool {
	return m.UID != 0 && m.sysctl("kernel.apparmor_restrict_unprivileged_userns") == "1"
}

// confinedBy is the AppArmor profile that we run under, "" for none and for one
// that confines nothing.
func (m *Machine) confinedBy() string {
	label, err := m.Read("/proc/self/attr/apparmor/current")
	if err != nil {
		return ""
	}
	name, mode, _ := strings.Cut(strings.TrimRight(label, "\n\x00"), " ")
	if name == "unconfined" || mode == "(unconfined)" {
		return ""
	}
	return name
}

// apparmorRemedy puts the program where only root writes, and has the profile
// loaded for it.
func (m *Machine) apparmorRemedy() remedy {
	r := remedy{cause: CauseAppArmor, fix: "AppArmor gives user namespaces to programs with a profile only: load carrel's (as administrator)"}
	if m.container() != "" {
		r.fix = "AppArmor gives user namespaces to programs with a profile only, and containers cannot load one: allow them on the host"
		r.commands = setting("kernel.apparmor_restrict_unprivileged_userns", "0")
		return r
	}
	at := m.Self
	if _, err := Profile(at); err != nil || at != ProgramPath && !m.Locked(at) {
		at = ProgramPath
		r.fix += ", installed at " + at + ", and start that one"
		r.commands = append(r.commands, "sudo install -m 0755 "+quoted(m.Self)+" "+at)
	}
	r.commands = append(r.commands,
		quoted(at)+" doctor --print-apparmor --path "+quoted(at)+" | sudo tee "+ProfilePath,
		"sudo apparmor_parser -r "+ProfilePath)
	return r
}
