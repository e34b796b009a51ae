package hostview

import (
	"path"
	"slices"
	"strings"

	"carrel/internal/pathname"
)

const (
	maxSSHConfig  = 256 << 10
	maxKnownHosts = 4 << 20
	maxSSHFiles   = 64 // files read through Include
	maxSSHDepth   = 8
)

const sshHeader = "# Written by carrel from the host's configuration: addresses and names only.\n" +
	"# Keys and commands of the host are not available inside.\n"

// ssh writes the configuration files that make host names work for ssh and git
// inside. ssh refuses a configuration that neither the user nor root owns, and
// files of root show another owner inside, so all of them are written anew.
func (in *inspector) ssh() {
	if in.h.walk("/etc/ssh/ssh_config").isFile() {
		lines := in.sshConfig("/etc/ssh/ssh_config", "/etc/ssh", "")
		in.file("/etc/ssh/ssh_config", sshText(lines), 0o644, "ssh settings of the system, without commands")
	}
	if !in.o.wantsHome() {
		return
	}
	dir := in.base.expand("~/.ssh")
	if !in.h.walk(dir).isDir() {
		return
	}
	if data, _, err := in.h.load(path.Join(dir, "known_hosts"), maxKnownHosts); err == nil {
		in.out.homeFile(path.Join(dir, "known_hosts"), data, 0o400, "keys of known ssh servers")
	}
	if at := in.h.walk(path.Join(dir, "config")); at.found {
		lines := in.sshConfig(path.Join(dir, "config"), dir, dir)
		in.out.homeFile(path.Join(dir, "config"), sshText(lines), 0o600, "names and addresses of ssh servers")
	}
}

func sshText(lines []string) []byte {
	if len(lines) == 0 {
		return []byte(sshHeader)
	}
	return []byte(sshHeader + strings.Join(lines, "\n") + "\n")
}

// sshReader filters one configuration with everything that it includes.
type sshReader struct {
	in    *inspector
	base  string // directory that relative includes start from
	fence string // includes must stay below it; "" for no such rule
	files int
	out   []string
}

// sshConfig returns the lines of a configuration that are kept.
func (in *inspector) sshConfig(p, base, fence string) []string {
	r := &sshReader{in: in, base: base, fence: fence}
	r.file(p, "Host *", 0)
	return r.out
}

// file filters one file. outer is the header that is in force where it is
// included: "Host *" for an unconditional place.
func (r *sshReader) file(p, outer string, depth int) {
	if r.files++; r.files > maxSSHFiles || depth > maxSSHDepth {
		r.in.out.note("ssh configuration %s: too many files are included", r.in.o.tilde(p))
		return
	}
	data, _, err := r.in.h.load(p, maxSSHConfig)
	if err != nil {
		r.in.out.note("ssh configuration: %v", err)
		return
	}
	current := outer // "" while inside a block that is dropped
	for _, d := range parseSSHConfig(data) {
		switch d.key {
		case "host", "match":
			current = r.header(d, outer)
			if current != "" {
				r.out = append(r.out, current)
			}
		case "include":
			r.include(d.args, current, depth)
		default:
			if line, ok := safeSSHLine(d); ok && current != "" {
				r.out = append(r.out, line)
			}
		}
	}
}

// header returns the block line to write, or "" to drop the block. A block
// below a conditional include would need both conditions, which the format
// cannot say, so it is dropped.
func (r *sshReader) header(d sshDirective, outer string) string {
	if outer != "Host *" {
		return ""
	}
	if d.key == "host" && len(d.args) > 0 {
		return joinSSH("Host", d.args)
	}
	if d.key == "match" && safeMatch(d.args) {
		return joinSSH("Match", d.args)
	}
	return ""
}

// include filters the named files in place and restores the block around them.
func (r *sshReader) include(patterns []string, current string, depth int) {
	if current == "" {
		return
	}
	for _, pattern := range patterns {
		for _, p := range r.expand(pattern) {
			r.file(p, current, depth+1)
			r.out = append(r.out, current)
		}
	}
}

// expand resolves an Include argument: "~/", absolute, or relative to the
// directory of the configuration; wildcards in the last component.
func (r *sshReader) expand(pattern string) []string {
	if strings.ContainsAny(pattern, "%$") {
		return nil
	}
	p := pattern
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		p = path.Join(r.in.o.Home, rest)
	}
	if !path.IsAbs(p) {
		p = path.Join(r.base, p)
	}
	p = path.Clean(p)
	var found []string
	for _, f := range r.in.h.glob(p) {
		at := r.in.h.walk(f)
		if r.fence != "" && (!pathname.Within(f, r.fence) || r.in.o.Project != r.in.o.Home && pathname.Within(at.path, r.in.o.Project)) {
			r.in.out.note("ssh configuration: %s is not below %s and was left out", r.in.o.tilde(f), r.in.o.tilde(r.fence))
			continue
		}
		if at.isFile() {
			found = append(found, f)
		}
	}
	return found
}

// glob lists what a path with wildcards in its last component names, sorted.
func (h *host) glob(p string) []string {
	if !strings.ContainsAny(p, "*?[") {
		return []string{p}
	}
	at := h.walk(path.Dir(p))
	if !at.isDir() {
		return nil
	}
	names, _ := h.list(at.path)
	var found []string
	for _, name := range names {
		if strings.HasPrefix(name, ".") && !strings.HasPrefix(path.Base(p), ".") {
			continue
		}
		if ok, err := path.Match(path.Base(p), name); err == nil && ok {
			found = append(found, path.Join(path.Dir(p), name))
		}
	}
	slices.Sort(found)
	return found
}
