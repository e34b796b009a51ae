package doctor

import (
	"strings"

	"carrel/internal/mountinfo"
)

func (m *Machine) mounts() []mountinfo.Mount {
	text, err := m.Read("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	return mountinfo.Parse(text)
}

// remount is the command that gives a path's mount an option. What is so only at
// one place of a file system is changed at that place alone: the file system
// may be in use by others, and some refuse it then.
func remount(mounts []mountinfo.Mount, path, option string) string {
	on := mountinfo.Mount{At: "/"}
	for _, m := range mounts {
		if len(m.At) >= len(on.At) && (m.At == path || strings.HasPrefix(path, strings.TrimSuffix(m.At, "/")+"/")) {
			on = m
		}
	}
	how := "remount,bind,"
	if on.ReadOnly {
		how = "remount,"
	}
	return "sudo mount -o " + how + option + " " + quoted(on.At)
}

// coversOf are the mounts below a directory, deepest last.
func coversOf(mounts []mountinfo.Mount, dir string) []string {
	var over []string
	for _, m := range mounts {
		if strings.HasPrefix(m.At, dir+"/") {
			over = append(over, m.At)
		}
	}
	return over
}
