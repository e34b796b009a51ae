package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// fileSystem is made anew for each measurement. ext4 looks at every inode that
// was deleted in the last minutes before it creates one, so in a directory that
// is used again and again creating files takes up to forty times as long.
type fileSystem struct {
	name string
	// script makes it: $1 is a file for an image, $2 the directory to mount it on.
	script string
}

var (
	tmpfs = fileSystem{"tmpfs", `mount -t tmpfs -o mode=700 bench "$2"`}
	// noinit_itable: otherwise a kernel thread writes inode tables meanwhile.
	ext4  = onImage("ext4", "mkfs.ext4 -q -F", "loop,noinit_itable")
	btrfs = onImage("Btrfs", "mkfs.btrfs -q", "loop")
	plain = fileSystem{name: "a directory"}
)

// onImage makes a file system in a file. The image has no name once it is
// mounted, so unmounting removes it.
func onImage(name, mkfs, options string) fileSystem {
	return fileSystem{name, `truncate -s 8G "$1"; ` + mkfs + ` "$1"; mount -o ` + options + ` "$1" "$2"; rm "$1"; chmod 700 "$2"`}
}

// place is an empty project with the state directory beside it.
type place struct {
	b    *bench
	root string // where the file system is mounted; the same for all
	dir  string // the project
	env  []string
}

func (b *bench) placeRoot() string { return b.fixture.root + "/fresh" }

func (b *bench) placeDir() string { return b.placeRoot() + "/p" }

// fresh makes a file system with a place in it; done takes both away. There is
// one at a time.
func (b *bench) fresh(fs fileSystem) (*place, error) {
	root := b.placeRoot()
	p := &place{b: b, root: root, dir: b.placeDir()}
	p.env = append(slices.Clone(b.fixture.env), "XDG_STATE_HOME="+root+"/state", "IN="+b.inputs(), "CARREL="+b.carrel)
	if fs.script != "" && os.Getuid() != 0 {
		return nil, errors.New("mounting a file system takes root")
	}
	b.ending.Lock()
	defer b.ending.Unlock()
	b.clean = p.remove
	err := mkdirs(root)
	if err == nil && fs.script != "" {
		err = once("/", p.env, []string{find("bash"), "-ec", fs.script, "bash", b.fixture.root + "/image", root})
	}
	if err == nil {
		err = mkdirs(p.dir, root+"/state", root+"/home", root+"/mounted")
	}
	if err != nil {
		p.remove()
		return nil, fmt.Errorf("making %s: %w", fs.name, err)
	}
	return p, nil
}

func (p *place) done() {
	p.b.ending.Lock()
	defer p.b.ending.Unlock()
	p.remove()
}

// remove unmounts what is mounted and removes what is left. A program that was
// ended just now may be in it for a moment.
func (p *place) remove() {
	p.b.clean = nil
	for range 50 {
		if !isMounted(p.root) || unmount(p.root) == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if isMounted(p.root) {
		_ = unmount("--lazy", p.root)
	}
	_ = errors.Join(os.RemoveAll(p.root), os.RemoveAll(p.b.fixture.root+"/image"))
}

// unmount also lets go of the loop device of an image.
func unmount(args ...string) error {
	c := exec.Command("/usr/bin/umount", args...)
	c.Env = []string{"LC_ALL=C"}
	return c.Run()
}

func isMounted(dir string) bool {
	text, _ := os.ReadFile("/proc/self/mountinfo") // no such file: nothing was mounted either
	return mountedIn(string(text), dir)
}

// mountedIn looks for a mount point in the text of mountinfo, proc_pid_mountinfo(5).
func mountedIn(text, dir string) bool {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 4 && f[4] == dir {
			return true
		}
	}
	return false
}

// orPlain gives the file system where it can be made, otherwise a directory and
// the reason, for the report.
func (b *bench) orPlain(fs fileSystem) (fileSystem, string) {
	err := b.usable(fs)
	if err == nil {
		return fs, ""
	}
	return plain, " In a directory of the host's file system, which may remember inodes deleted before: " + err.Error() + "."
}

// usable reports why a file system cannot be made here.
func (b *bench) usable(fs fileSystem) error {
	p, err := b.fresh(fs)
	if err == nil {
		p.done()
	}
	return err
}

// anew measures the contenders in turns, each run on a file system made for it.
// What a contender prepares is done in the project, outside walls, and does not
// count; keep takes the rest, with what the command printed.
func (b *bench) anew(title string, fs fileSystem, rounds int, list []*contender, keep func(c *contender, t took, out string) error) {
	b.turns(title, rounds, list, func(c *contender, counts bool) error {
		p, err := b.fresh(fs)
		if err != nil {
			return err
		}
		defer p.done()
		if err := once(p.dir, p.env, []string{find("bash"), "-ec", c.prepare + "\nsync -f ."}); err != nil {
			return fmt.Errorf("preparing: %w", err)
		}
		t, out, err := clocked(p.dir, p.env, c.argv)
		if err == nil && counts {
			err = keep(c, t, out)
		}
		return err
	})
}

// ending is for the end by a signal.
type ending struct {
	sync.Mutex
	clean func() // takes away what would outlast the program
}

// whenAsked cleans up, and then ends this program, at the signals that would end
// it without. It keeps the lock, so that nothing new is made meanwhile.
func (b *bench) whenAsked() {
	in := make(chan os.Signal, 1)
	signal.Notify(in, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-in
		b.stopNow()
		signal.Reset(s)
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Signal(s)
		}
	}()
}

// stopNow ends the commands that run and removes everything, for good.
func (b *bench) stopNow() {
	b.ending.Lock()
	endCommands()
	if b.clean != nil {
		b.clean()
	}
	b.fixture.remove()
}

// finish removes the fixture, or waits for the end by a signal.
func (b *bench) finish() {
	b.ending.Lock()
	defer b.ending.Unlock()
	b.fixture.remove()
}

// cleanedBy names what has to be taken away until the function that it returns is called.
func (b *bench) cleanedBy(clean func()) func() {
	set := func(f func()) {
		b.ending.Lock()
		defer b.ending.Unlock()
		b.clean = f
	}
	set(clean)
	return func() { set(nil) }
}
