//go:build !unix

package machine

import (
	"errors"
	"io"
)

// Take refuses: limactl has no machines here.
func (m *Machine) Take(string) (io.Closer, error) { return nil, errors.ErrUnsupported }
