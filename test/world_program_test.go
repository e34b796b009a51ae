//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// copies are the directories with programs that ended worlds had, for the next ones: a
// copy of the programs is 30 MB, and most worlds live for a second.
var copies struct {
	sync.Mutex
	free []string
	made int
}

// takePrograms gives the world programs that no other living world has.
func (w *world) takePrograms() {
	w.t.Helper()
	bin, taken := w.base+"/bin", ""
	copies.Lock()
	if last := len(copies.free) - 1; last >= 0 {
		taken, copies.free = copies.free[last], copies.free[:last]
	}
	copies.Unlock()
	if taken != "" {
		w.must(os.Rename(taken, bin))
	} else {
		w.must(os.Mkdir(bin, 0o755))
		for _, program := range []string{"carrel", "carrel-stage"} {
			w.must(copyFile(filepath.Join(filepath.Dir(built.carrel), program), bin+"/"+program, 0o755))
		}
	}
	w.programs = w.lookAtPrograms()
}

// passPrograms keeps the programs of a world that ends for a later one, if nothing has
// changed them: neither their content nor their metadata, nor the directory.
func (w *world) passPrograms() {
	if w.t.Failed() || w.lookAtPrograms() != w.programs {
		return
	}
	copies.Lock()
	defer copies.Unlock()
	copies.made++
	to := filepath.Join(built.base, "bin"+strconv.Itoa(copies.made))
	if os.Rename(w.base+"/bin", to) == nil {
		copies.free = append(copies.free, to)
	}
}

// lookAtPrograms describes the directory of programs and each file in it. Every change
// of a file shows in its change time; the directory's own changes with its name.
func (w *world) lookAtPrograms() string {
	entries, err := os.ReadDir(w.base + "/bin")
	if err != nil {
		return err.Error()
	}
	var seen strings.Builder
	look := func(name string) (st syscall.Stat_t) {
		if err := syscall.Lstat(w.base+"/bin/"+name, &st); err == nil {
			fmt.Fprintln(&seen, name, st.Dev, st.Ino, st.Mode, st.Uid, st.Gid)
		}
		return st
	}
	look(".")
	for _, e := range entries {
		st := look(e.Name())
		fmt.Fprintln(&seen, st.Nlink, st.Size, st.Mtim, st.Ctim)
	}
	return seen.String()
}
