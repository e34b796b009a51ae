package gitdir

import "syscall"

// noFollow opens neither through a symlink nor waits for a FIFO's writer.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
