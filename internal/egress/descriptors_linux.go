package egress

import "syscall"

// descriptors is how many this process may have open.
func descriptors() uint64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 1024
	}
	return l.Cur
}
