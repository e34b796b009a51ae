package doctor

import (
	"slices"
	"strconv"
	"strings"
)

// mount is one line of /proc/self/mountinfo.
type mount struct {
	at     string
	system bool // read-only as a file system, not only at this place
}

// mounts are those in sight, in their order: a later one covers an earlier.
func (p *patient) mounts() []mount {
	text, err := p.Read("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	var all []mount
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 5 {
			super := strings.Split(f[len(f)-1], ",")
			all = append(all, mount{at: unescaped(f[4]), system: slices.Contains(super, "ro")})
		}
	}
	return all
}

// remount is the command that gives a path's mount an option. What is so only at
// one place of a file system is changed at that place alone: the file system
// may be in use by others, and some refuse it then.
func remount(mounts []mount, path, option string) string {
	on := mount{at: "/"}
	for _, m := range mounts {
		if len(m.at) >= len(on.at) && (m.at == path || strings.HasPrefix(path, strings.TrimSuffix(m.at, "/")+"/")) {
			on = m
		}
	}
	how := "remount,bind,"
	if on.system {
		how = "remount,"
	}
	return "sudo mount -o " + how + option + " " + quoted(on.at)
}

// coversOf are the mounts below a directory, deepest last.
func coversOf(mounts []mount, dir string) []string {
	var over []string
	for _, m := range mounts {
		if strings.HasPrefix(m.at, dir+"/") {
			over = append(over, m.at)
		}
	}
	return over
}

// unescaped undoes what the kernel does to spaces and their like: \ooo.
func unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
