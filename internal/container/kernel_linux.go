package container

import "golang.org/x/sys/unix"

// kernelRelease is the kernel's own release, "" where it is not told.
func kernelRelease() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// hybridCgroups reports whether controllers of version 2 lie beside those of version 1, which
// crun does not take.
func hybridCgroups() bool {
	const unified = "/sys/fs/cgroup/unified"
	var s unix.Statfs_t
	return unix.Statfs(unified, &s) == nil && s.Type == unix.CGROUP2_SUPER_MAGIC
}

// ownedByOrdinaryUser reports whether a file is there and is not root's.
func ownedByOrdinaryUser(path string) bool {
	var st unix.Stat_t
	return unix.Stat(path, &st) == nil && st.Uid != 0
}
