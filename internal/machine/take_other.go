//go:build !unix

package machine

import (
	"errors"
	"io"
)

// take refuses: there are no machines here.
func take(string) (io.Closer, error) { return nil, errors.ErrUnsupported }
