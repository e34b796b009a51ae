package qemu

import "carrel/internal/guestimage"

// Boot reads what machines boot from: a kernel and the archive with its modules, or where none is named
// the image that was kept last.
func Boot(kernel, initrd string, getenv func(string) string) (*guestimage.Image, error) {
	if kernel != "" {
		return guestimage.Read(kernel, initrd)
	}
	return guestimage.Load(guestimage.Dir(getenv))
}
