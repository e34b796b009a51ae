//go:build !linux

package machine

import (
	"errors"

	"carrel/internal/config"
)

// chooseVM refuses: files are served to a machine from Linux only.
func chooseVM(Wish, *config.VM) (*Machine, error) {
	return nil, errors.New("backend vm: it works on Linux only")
}
