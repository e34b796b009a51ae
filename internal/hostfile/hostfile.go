// Package hostfile opens and locks files of the host safely where others may have chosen
// the name: no link, no waiting, and the owner is known. It opens none through a link and
// waits for no FIFO's writer; it says which files are this user's own, and locks a file
// for a bounded time. It writes nothing but the empty file that a lock needs.
package hostfile

import (
	"fmt"
	"os"
)

// ReadHead reads the beginning of a regular file, without following a link or
// waiting for a FIFO.
func ReadHead(path string, n int) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|NoFollow, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, fmt.Errorf("reading %q: not a regular file", path)
	}
	buf := make([]byte, n)
	m, err := f.Read(buf)
	if m > 0 {
		err = nil
	}
	return buf[:m], err
}
