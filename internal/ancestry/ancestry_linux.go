package ancestry

import "golang.org/x/sys/unix"

// Mark marks a running process, as an agent outside of any workspace, and what it starts
// from now on. One that is marked already, or runs in a workspace, stays as it is. It
// does nothing where the process belongs to another user.
func Mark(pid int) {
	if pid <= 0 || pid > maxPID {
		return
	}
	var limit unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit) != nil || limit.Max <= agentBase+maxPID {
		return
	}
	limit.Max = agentBase + uint64(pid)
	limit.Cur = min(limit.Cur, limit.Max)
	_ = unix.Prlimit(pid, unix.RLIMIT_RTTIME, &limit, nil)
}

// Of says what has started a process, and of an agent which process that is or was.
func Of(pid int) (k Kind, agent int) {
	var limit, own unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit) != nil || unix.Prlimit(0, unix.RLIMIT_RTTIME, nil, &own) != nil {
		return Unmarked, 0
	}
	return kindOf(limit.Max, own.Max, unix.RLIM_INFINITY)
}
