package stage

import (
	"os"
	"path"
	"strings"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// imageTree puts the container's system into the new root: each entry of its root, bound
// read-only. Where the plan makes something in a directory of it that is not there, that
// directory is put together of its entries, so that there is room for one more.
type imageTree struct {
	*builder
	own   map[string]bool // paths at which the plan has something
	links map[string]bool // those of links that are in place of what the image has
	apart map[string]bool // directories to put together
}

func putImage(b *builder) error {
	t := imageTree{builder: b, own: make(map[string]bool), links: make(map[string]bool), apart: make(map[string]bool)}
	for _, m := range b.plan.Mounts {
		switch m.Kind {
		case sandbox.MountImage, sandbox.MountMask, sandbox.MountSelf, sandbox.Freeze:
		default:
			t.own[m.Target] = true
			t.links[m.Target] = m.Kind == sandbox.MakeSymlink && !m.Optional
		}
	}
	for i := range b.plan.Mounts {
		t.roomFor(&b.plan.Mounts[i])
	}
	return t.dir("/")
}

// roomFor finds out which directories have to be put together for one step.
func (t *imageTree) roomFor(m *sandbox.Mount) {
	link := m.Kind == sandbox.MakeSymlink
	if !t.own[m.Target] || m.Optional && link {
		return
	}
	for dir := path.Dir(m.Target); dir != "/"; dir = path.Dir(dir) {
		if t.own[dir] {
			return // it lies in something of the plan's
		}
	}
	if !link && m.Kind != sandbox.WriteFile && thereWithoutLinks(m.Target) {
		return
	}
	for dir := path.Dir(m.Target); dir != "/"; dir = path.Dir(dir) {
		t.apart[dir] = true
	}
}

// thereWithoutLinks says whether a path of the image can be mounted on.
func thereWithoutLinks(at string) bool {
	fd, err := openSource(at)
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
}

// dir adds the entries of a directory that the new root has.
func (t *imageTree) dir(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return failed("reading the image's directory", dir, err)
	}
	for _, e := range entries {
		at := path.Join(dir, e.Name())
		if at == sandbox.ContainerDir || at == "/sys" || dir == "/" && t.own[at] || t.links[at] {
			continue
		}
		if err := t.entry(at, e); err != nil {
			return err
		}
	}
	return nil
}

func (t *imageTree) entry(at string, e os.DirEntry) error {
	switch {
	case t.apart[at]:
		return t.putTogether(at, e)
	case e.Type()&os.ModeSymlink != 0:
		if t.own[at] {
			return nil
		}
		text, err := os.Readlink(at)
		if err != nil {
			return failed("reading the image's link", at, err)
		}
		return failed("making", at, unix.Symlinkat(text, t.tree.root, strings.TrimPrefix(at, "/")))
	case e.IsDir() || e.Type().IsRegular():
		m := sandbox.Mount{Kind: sandbox.MountHost, Source: at, Target: at, ReadOnly: true}
		return t.bind(&m, unix.MOUNT_ATTR_NODEV)
	}
	return nil
}

// putTogether makes a directory in memory, with what the image has in it.
func (t *imageTree) putTogether(at string, e os.DirEntry) error {
	perm := uint32(0o755)
	if info, err := e.Info(); err == nil && e.IsDir() {
		perm = uint32(info.Mode().Perm()) | 0o500
	}
	parent, name, err := t.tree.parent(at)
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	if err := unix.Mkdirat(parent, name, perm); err != nil {
		return failed("making", at, err)
	}
	if !e.IsDir() { // a link, which would lead away from what the plan makes here
		return nil
	}
	return t.dir(at)
}
