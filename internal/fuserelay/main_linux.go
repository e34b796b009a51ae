package fuserelay

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"
)

// failed is what the relay ends with where it could not do its work.
const failed = 125

// Main mounts what is named, by pairs of a path in the file system that is served and one in this
// machine, and ends with the stream. It says "ready" on standard error when all are there, and the
// inodes that they have. With -mount it mounts all that is served at one directory; what is shown of
// it elsewhere is its caller's. With -listen it takes addresses, and carries the connections that are
// made to them.
func Main(args []string) int {
	do := relay
	switch {
	case len(args) > 0 && args[0] == "-listen":
		do, args = listen, args[1:]
	case len(args) > 0 && args[0] == "-mount":
		do, args = mount, args[1:]
	}
	if err := do(args); err != nil {
		fmt.Fprintln(os.Stderr, "carrel-relay:", err)
		return failed
	}
	return 0
}

func mount(args []string) error {
	if len(args) != 1 || !path.IsAbs(args[0]) {
		return errors.New("carrel-relay -mount takes a directory")
	}
	return at(args[0], os.Stdin, os.Stdout, func() error {
		_, err := fmt.Fprintln(os.Stderr, "ready")
		return err
	})
}

func relay(args []string) error {
	if len(args) == 0 || len(args)%2 != 0 {
		return errors.New("carrel-relay takes pairs of what is served and where it is mounted")
	}
	var places []Place
	for pair := range slices.Chunk(args, 2) {
		from, to := pair[0], pair[1]
		if !fs.ValidPath(from) || from == "." {
			return fmt.Errorf("%q is no path below what is served", from)
		}
		if !path.IsAbs(to) || path.Clean(to) != to || to == "/" {
			return fmt.Errorf("%q is no absolute path of a file or directory", to)
		}
		places = append(places, Place{From: from, To: to})
	}
	return Run(os.Stdin, os.Stdout, places, func() error {
		line := "ready"
		for _, place := range places {
			inode, err := Served(place.To)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %d", inode)
		}
		_, err := fmt.Fprintln(os.Stderr, line)
		return err
	})
}

// Served gives the inode of a place, which has to be in a file system of FUSE.
func Served(place string) (uint64, error) {
	var fs unix.Statfs_t
	var st unix.Stat_t
	if err := errors.Join(unix.Statfs(place, &fs), unix.Stat(place, &st)); err != nil {
		return 0, fmt.Errorf("looking at %s: %w", place, err)
	}
	if fs.Type != unix.FUSE_SUPER_MAGIC {
		return 0, fmt.Errorf("%s is not what was mounted", place)
	}
	return st.Ino, nil
}
