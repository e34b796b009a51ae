package workspace

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"carrel/internal/policy"
)

// maxSocketSearch bounds the search for sockets that were bound by a relative
// name, in directory entries.
const maxSocketSearch = 50_000

// hostSockets finds the sockets of programs outside that lie below visible
// directories: a read-only mount does not stop connect(2), so they are masked.
// The kernel lists them by the name that they were bound with (proc_net(5)); a
// relative one says nothing of its directory, and is searched for.
func (p *Prepared) hostSockets() []string {
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
			if real := p.visibleSocket(name); real != "" {
				found = append(found, real)
			}
		case name != "" && name[0] != '@':
			relative[filepath.Base(name)] = true
		}
	}
	if len(relative) > 0 {
		found = append(found, searchSockets(p.grantedRoots(), relative)...)
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

// visibleSocket gives the canonical path of a socket that a rule shows.
func (p *Prepared) visibleSocket(name string) string {
	dir, err := filepath.EvalSymlinks(filepath.Dir(name))
	if err != nil {
		return ""
	}
	full := filepath.Join(dir, filepath.Base(name))
	d := p.Policy.Lookup(full)
	if d.Access != policy.Read && d.Access != policy.Write || d.Rule.Path == p.Policy.Scope.Tmp && d.Rule.Source.Layer == policy.LayerDefault {
		return ""
	}
	if st, err := os.Lstat(full); err != nil || st.Mode()&os.ModeSocket == 0 {
		return ""
	}
	return full
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
