package workspace

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxSocketSearch bounds the search for sockets that were bound by a relative
// name, in directory entries.
const maxSocketSearch = 50_000

// hostSockets finds the sockets of programs outside that lie below visible
// directories: a read-only mount does not stop connect(2), so they are masked.
// The kernel lists them by the name that they were bound with (proc_net(5)); a
// relative one says nothing of its directory, and is searched for.
func hostSockets(roots []string) []string {
	f, err := os.Open("/proc/net/unix")
	if err != nil {
		return nil
	}
	defer f.Close()
	var found []string
	relative := make(map[string]bool)
	lines := bufio.NewScanner(f)
	lines.Scan() // the heading
	for lines.Scan() {
		switch name := socketName(lines.Text()); {
		case strings.HasPrefix(name, "/"):
			if real := canonicalSocket(name, roots); real != "" {
				found = append(found, real)
			}
		case name != "" && name[0] != '@':
			relative[filepath.Base(name)] = true
		}
	}
	if len(relative) > 0 {
		found = append(found, searchSockets(roots, relative)...)
	}
	return found
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

func canonicalSocket(name string, roots []string) string {
	dir, err := filepath.EvalSymlinks(filepath.Dir(name))
	if err != nil {
		return ""
	}
	full := filepath.Join(dir, filepath.Base(name))
	for _, r := range roots {
		if st, err := os.Lstat(full); within(full, r) && err == nil && st.Mode()&os.ModeSocket != 0 {
			return full
		}
	}
	return ""
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
