package steps

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"

	"carrel/internal/broker"
	"carrel/internal/history"
	"carrel/internal/processes"
	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// Whose a change is. A process belongs to the job that its nearest ancestor
// belongs to. One that has lost its parents is known by what it was when they were
// still there, or by its session or process group, where these are the job's own.

// lineOfChange gives the line of what asks for a change.
func (j *jobs) lineOfChange(ch *broker.Change) *line {
	if ch.Label == 0 {
		return j.lineOfThread(int(ch.TID))
	}
	return j.lineOfLabel(ch.Label)
}

// lineOfLabel gives the line of a command in a machine.
func (j *jobs) lineOfLabel(label uint64) *line {
	j.mu.Lock()
	defer j.mu.Unlock()
	if one := j.apps[label]; one != nil {
		return one.line
	}
	return &j.run.line
}

// lineOfThread gives the line of a thread that waits for its change.
func (j *jobs) lineOfThread(tid int) *line {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.list) == 0 {
		return &j.run.line
	}
	c, known := j.callers[tid]
	if !known || !c.alive() {
		c = j.recall(tid, c)
	}
	if c.job == nil {
		return &j.run.line
	}
	return c.job.line
}

// alive says whether a thread is there that is known to be meant: one system call
// and not the many lines that the kernel would write about it.
func (c caller) alive() bool { return c.dir > 0 && unix.Faccessat(c.dir, "stat", unix.F_OK, 0) == nil }

// recall looks who has a number by now, and remembers it; the lock is held.
func (j *jobs) recall(tid int, was caller) caller {
	j.shut(was)
	delete(j.callers, tid)
	dir := j.openProc(tid)
	thread, ok := processes.Read(tid)
	if !ok {
		j.shut(caller{dir: dir})
		return caller{}
	}
	c := caller{start: thread.Start, dir: dir}
	if was.start == thread.Start {
		c.job = was.job
	} else if pid := processes.OfThread(tid); pid == tid {
		c.job = j.jobOf(processes.Read, thread)
	} else if p, ok := processes.Read(pid); ok {
		c.job = j.jobOf(processes.Read, p)
	}
	if len(j.callers) >= maxCallers {
		j.forget(func(pid int, c caller) bool { return c.job == nil || c.job.PID != pid })
	}
	j.callers[tid] = c
	return c
}

// openProc pins a thread, 0 where too many are.
func (j *jobs) openProc(tid int) int {
	if j.open >= maxOpenCallers {
		return 0
	}
	fd, err := unix.Open("/proc/"+strconv.Itoa(tid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	j.open++
	return fd
}

func (j *jobs) shut(c caller) {
	if c.dir > 0 {
		unix.Close(c.dir)
		j.open--
	}
}

// forget drops callers.
func (j *jobs) forget(which func(pid int, c caller) bool) {
	for pid, c := range j.callers {
		if which(pid, c) {
			j.shut(c)
			delete(j.callers, pid)
		}
	}
}

// jobOf gives the job of a process, nil for none; the lock is held.
func (j *jobs) jobOf(look func(int) (processes.Process, bool), p processes.Process) *Job {
	if len(j.list) == 0 {
		return nil
	}
	if len(j.apps)+len(j.lent) > 0 {
		label := sandbox.LabelOf(p.PID)
		if one := j.apps[label]; one != nil {
			return one
		}
		if one := j.lent[label]; one != nil {
			return one
		}
	}
	for range processes.MaxGenerations {
		if c, ok := j.callers[p.PID]; ok && c.start == p.Start && c.job != nil {
			return c.job
		}
		if one := j.owner(look, j.sessions, p.Session); one != nil {
			return one
		}
		if one := j.owner(look, j.groups, p.Group); one != nil {
			return one
		}
		parent, ok := look(p.Parent)
		if !ok || p.Parent == j.stage || parent.Start > p.Start {
			return nil
		}
		p = parent
	}
	return nil
}

// owner gives whose a session or group is. A number is another's by now if its
// leader is there and belongs to no job.
func (j *jobs) owner(look func(int) (processes.Process, bool), of map[int]*Job, number int) *Job {
	one := of[number]
	if one == nil {
		return nil
	}
	if leader, ok := look(number); ok {
		if c, known := j.callers[number]; !known || c.job == nil || c.start != leader.Start {
			return nil
		}
	}
	return one
}

// claim finds the sessions and groups that only jobs are in; the lock is held.
func (j *jobs) claim(inside processes.Tree) {
	shared := make(map[int]bool)
	members := make(map[int]*Job)
	for pid, p := range inside {
		if one := j.jobOf(inside.Look, p); one != nil {
			members[pid] = one
		} else if !p.Gone {
			shared[p.Session], shared[p.Group] = true, true
		}
	}
	sessions, groups := make(map[int]*Job), make(map[int]*Job)
	for pid, one := range members {
		p := inside[pid]
		if !shared[p.Session] {
			sessions[p.Session] = one
		}
		if !shared[p.Group] {
			groups[p.Group] = one
		}
	}
	j.sessions, j.groups = sessions, groups
}

// carried is what jobs go on writing to without asking when a step ends.
type carried map[*Job][]history.Written

// share says which files are kept for the step that follows, and which for a job:
// those that only its processes have open, or mapped, for writing. No change is on
// its way, so that nothing is opened meanwhile, though perhaps closed.
func (j *jobs) share(w *history.Writer) ([]history.Written, carried) {
	written := w.StillWritten()
	if j == nil || len(written) == 0 || !j.some() {
		return written, nil
	}
	inside := processes.Below(j.stage)
	j.mu.Lock()
	defer j.mu.Unlock()
	holders := make(map[file]*Job)
	for pid, p := range inside {
		one := j.jobOf(inside.Look, p)
		for _, f := range writableOf(pid) {
			if was, known := holders[f]; known && was != one {
				holders[f] = nil // nobody's alone
				continue
			}
			holders[f] = one
		}
	}
	var own []history.Written
	theirs := make(carried)
	for _, f := range written {
		one, seen := holders[file{f.ID.Dev, f.ID.Ino}]
		switch {
		case one != nil:
			theirs[one] = append(theirs[one], f)
		case seen || w.IsWritten(f):
			own = append(own, f)
		}
	}
	return own, theirs
}

// keep keeps the files for the jobs, in a step that is opened for it.
func (c carried) keep() (err error) {
	for one, files := range c {
		err = errors.Join(err, one.line.carry(files))
	}
	return err
}

// file is one that a process has open.
type file struct{ dev, ino uint64 }

// writableOf lists the regular files that a process can write to by a descriptor
// or a shared mapping. What cannot be seen is not among them.
func writableOf(pid int) []file {
	at := "/proc/" + strconv.Itoa(pid)
	out := mappedBy(at + "/maps")
	dir, err := os.Open(at + "/fd")
	if err != nil {
		return out
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		var link, st unix.Stat_t
		if unix.Fstatat(int(dir.Fd()), name, &link, unix.AT_SYMLINK_NOFOLLOW) != nil || link.Mode&0o200 == 0 {
			continue // not for writing: the mode of the link says so
		}
		if unix.Fstatat(int(dir.Fd()), name, &st, 0) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
			out = append(out, file{st.Dev, st.Ino})
		}
	}
	return out
}

// mappedBy lists what a process has mapped shared and for writing.
func mappedBy(maps string) (out []file) {
	f, err := os.Open(maps)
	if err != nil {
		return nil
	}
	defer f.Close()
	return mappedIn(f)
}

// mappedIn reads that from a list of mappings, as proc_pid_maps(5) has it.
func mappedIn(list io.Reader) (out []file) {
	for lines := bufio.NewScanner(list); lines.Scan(); {
		words := bytes.Fields(lines.Bytes()) // range, rights, offset, device, inode, path
		if len(words) < 5 || len(words[1]) != 4 || words[1][1] != 'w' || words[1][3] != 's' {
			continue
		}
		major, minor, _ := bytes.Cut(words[3], []byte{':'})
		a, err1 := strconv.ParseUint(string(major), 16, 32)
		b, err2 := strconv.ParseUint(string(minor), 16, 32)
		ino, err3 := strconv.ParseUint(string(words[4]), 10, 64)
		if err := errors.Join(err1, err2, err3); err == nil && ino != 0 {
			out = append(out, file{unix.Mkdev(uint32(a), uint32(b)), ino})
		}
	}
	return out
}
