package memfile

import (
	"fmt"
	"io"
	"os"
)

// Read returns the whole content of a descriptor that another process sent, whatever its
// offset is. It has to be a regular file of at most so many bytes: a read of another kind
// could block.
func Read(f *os.File, most int64) ([]byte, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > most {
		return nil, fmt.Errorf("no regular file of at most %d bytes", most)
	}
	data, err := io.ReadAll(io.NewSectionReader(f, 0, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("more than %d bytes", most)
	}
	return data, err
}
