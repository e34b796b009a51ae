package desktop

import (
	"bytes"
	"testing"
	"time"

	"carrel/internal/desktop/wiretest"
)

// FuzzServer has a server say anything, from the greeting on. Nothing may
// panic, hang or take much memory.
func FuzzServer(f *testing.F) {
	f.Add(wiretest.Setup())
	f.Add([]byte{0, 255, 11, 0, 0, 0, 1, 0, 'n', 'o', '!', '!'})
	f.Add([]byte{2, 0, 11, 0, 0, 0, 0, 0})
	f.Add(append(wiretest.Setup(), wiretest.Message(1, 0xfffffff8)...))
	f.Add(append(wiretest.Setup(), wiretest.Message(1, 1, 1, 2, 3, 4)...))
	f.Add(append(wiretest.Setup(), wiretest.Message(0, 0)...))
	f.Add(append(wiretest.Setup(), wiretest.Message(35, 2, make([]byte, 40)...)...))
	f.Add(append(wiretest.Setup(), wiretest.Message(200, 2, make([]byte, 40)...)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			if d, err := open(t.Context(), wiretest.Server{Says: bytes.NewReader(b)}, nil); err == nil {
				d.Close()
			}
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatal("it hangs")
		}
	})
}
