package hostsockets

import (
	"bufio"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// maxSocketSearch bounds the search for sockets that were bound by a relative
// name, in directory entries.
const maxSocketSearch = 50_000

// All finds the sockets of programs outside that lie below visible
// directories: a read-only mount does not stop connect(2), so they are masked.
// The kernel lists them by the name that they were bound with (proc_net(5)); a
// relative one says nothing of its directory, and is searched for. One that was
// renamed since, as programs do that want it to appear at once, lies beside its
// first name.
func (s *Search) All() []string {
	f, err := os.Open("/proc/net/unix")
	if err != nil {
		return nil
	}
	defer f.Close()
	var found []string
	relative, left := make(map[string]bool), make(map[string]bool)
	lines := bufio.NewScanner(f)
	lines.Scan() // the heading
	for lines.Scan() {
		switch name := socketName(lines.Text()); {
		case strings.HasPrefix(name, "/"):
			dir, err := filepath.EvalSymlinks(filepath.Dir(name))
			switch full := filepath.Join(dir, filepath.Base(name)); {
			case err != nil:
			case s.shown(full):
				found = append(found, full)
			case Visible(s.Policy, dir):
				left[dir] = true
			}
		case name != "" && name[0] != '@':
			relative[filepath.Base(name)] = true
		}
	}
	for dir := range left {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if full := filepath.Join(dir, e.Name()); e.Type()&fs.ModeSocket != 0 && s.shown(full) {
				found = append(found, full)
			}
		}
	}
	if len(relative) > 0 {
		found = append(found, searchSockets(s.Roots, relative)...)
	}
	return slices.DeleteFunc(found, func(socket string) bool { return !s.reaches(socket) })
}

// reaches says whether a command could get to a path. Where root runs carrel, a
// command is root without privilege: directories of others that are closed to it
// are closed to a mount, too.
func (s *Search) reaches(file string) bool {
	for dir := path.Dir(file); s.UID == 0 && dir != "/"; dir = path.Dir(dir) {
		var st unix.Stat_t
		if unix.Lstat(dir, &st) != nil {
			return false
		}
		groups, _ := os.Getgroups()
		ours := st.Uid == 0 || st.Mode&0o001 != 0 || st.Mode&0o010 != 0 && (int(st.Gid) == s.GID || slices.Contains(groups, int(st.Gid)))
		if !ours {
			return false
		}
	}
	return true
}

// socketName takes the name from "Num: RefCount Protocol Flags Type St Inode
// Path"; the inode is padded, the name may hold spaces.
func socketName(line string) string {
	fields := strings.SplitN(line, " ", 7)
	if len(fields) < 7 {
		return ""
	}
	_, name, _ := strings.Cut(strings.TrimLeft(fields[6], " "), " ")
	return name
}

// shown says whether a canonical path is a socket that a rule shows.
func (s *Search) shown(file string) bool {
	if !Visible(s.Policy, file) {
		return false
	}
	st, err := os.Lstat(file)
	return err == nil && st.Mode()&os.ModeSocket != 0
}

func searchSockets(roots []string, names map[string]bool) []string {
	var found []string
	left := maxSocketSearch
	for _, root := range roots {
		_ = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if left--; left < 0 {
				return filepath.SkipAll
			}
			if err == nil && d.Type()&fs.ModeSocket != 0 && names[d.Name()] {
				found = append(found, p)
			}
			return nil
		})
	}
	return found
}
