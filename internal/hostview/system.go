package hostview

import (
	"path"

	"carrel/internal/pathname"
	"carrel/internal/policy"
)

// systemPlaces are the directories that make up a system, in the order of the
// usual layout. /nix/store is content-addressed and holds no secrets by design.
var systemPlaces = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store",
}

// systemLinks are links outside these directories that systems rely on.
var systemLinks = []string{"/run/current-system", "/run/opengl-driver"}

// linkedFiles are files of the system that often point elsewhere.
var linkedFiles = []string{
	"/etc/localtime", "/etc/timezone", "/etc/locale.conf", "/etc/default/locale", "/etc/os-release",
	"/etc/ssl/certs", "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem",
	"/etc/pki/tls/certs/ca-bundle.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/java/cacerts", "/etc/ssl/certs/java/cacerts",
}

// system finds the system directories, as directories or as links, and what
// they point to outside themselves.
func (in *inspector) system() {
	v := in.out.view
	for _, dir := range systemPlaces {
		at := in.h.walk(dir)
		if !at.isDir() {
			continue
		}
		v.Symlinks = append(v.Symlinks, at.hops...)
		if !contains(v.System, at.path) && !in.out.inSystem(at.path) && at.path != "/" {
			v.System = append(v.System, at.path)
		}
	}
	for _, l := range v.Symlinks {
		in.out.seen["l"+l.Path] = true
	}
	for _, dir := range v.System {
		in.out.rule(dir, policy.Read, "system directory")
	}
	for _, p := range systemLinks {
		if at := in.h.walk(p); at.found && in.out.inSystem(at.path) {
			in.out.link(at.hops)
		}
	}
	for _, p := range linkedFiles {
		in.extraRead(p)
	}
}

// extraRead makes a path of the system work where it leads out of the system.
func (in *inspector) extraRead(p string) {
	at := in.h.walk(p)
	if !at.found || len(at.hops) == 0 && in.out.inSystem(at.path) {
		return
	}
	if in.out.inSystem(at.path) {
		in.out.link(at.hops)
		return
	}
	if in.o.tooBroad(at.path) && !pathname.Within(at.path, "/run") {
		in.out.note("%s leads to %q, which is not shown", p, at.path)
		return
	}
	in.out.link(at.hops)
	if !contains(in.out.view.ExtraRead, at.path) {
		in.out.view.ExtraRead = append(in.out.view.ExtraRead, at.path)
	}
}

// visibleExecutable tells whether an absolute path is an executable file in the
// system directories.
func (in *inspector) visibleExecutable(p string) bool {
	if !path.IsAbs(p) {
		return false
	}
	at := in.h.walk(path.Clean(p))
	return at.isFile() && at.mode&0o111 != 0 && in.out.inSystem(at.path)
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
