package machine

import (
	"fmt"
	"path"
	"slices"
	"strconv"

	"carrel/internal/interceptor"
	"carrel/internal/pathname"

	"golang.org/x/sys/unix"
)

// pin opens what is served of places: their directories, and of files those that they are in. What
// lies in another place is served with that. What is kept comes after the others. The roots are the
// caller's to close, also with an error.
func pin(places []Place, kept ...Place) (roots []interceptor.Root, at []Mounted, err error) {
	for n, place := range slices.Concat(places, kept) {
		keeps := n >= len(places)
		var st unix.Stat_t
		if err := unix.Lstat(place.Host, &st); err != nil {
			return roots, nil, fmt.Errorf("looking at %s: %w", place.Host, err)
		}
		dir := place.Host
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			dir = path.Dir(place.Host)
		}
		i := slices.IndexFunc(roots, func(r interceptor.Root) bool {
			return len(r.Names) == 0 && pathname.Within(dir, r.Path) || len(r.Names) > 0 && dir == r.Path && dir != place.Host && keeps == r.Kept
		})
		if i < 0 {
			fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
			if err != nil {
				return roots, nil, fmt.Errorf("opening %s: %w", dir, err)
			}
			i = len(roots)
			roots = append(roots, interceptor.Root{Path: dir, FD: fd, Kept: keeps})
			if dir != place.Host {
				roots[i].Names = []string{path.Base(place.Host)}
			}
		} else if len(roots[i].Names) > 0 {
			roots[i].Names = append(roots[i].Names, path.Base(place.Host))
		}
		at = append(at, Mounted{From: path.Join(strconv.Itoa(i), place.Host[len(roots[i].Path):]), To: place.Guest, Inode: st.Ino})
	}
	return roots, at, nil
}

func closeRoots(roots []interceptor.Root) {
	for _, r := range roots {
		unix.Close(r.FD)
	}
}
