//go:build linux

package e2e

import (
	"testing"
	"time"
	"os"
	"fmt"
)

func TestDbg(t *testing.T) {
	w := newWorld(t, ordinary(t))
	w.unreadable("f")
	cmd := w.command(w.bin, "run", "--", "sh", "-c", "rm -f f; echo $? > status; sleep 5")
	cmd.Stderr = os.Stderr
	cmd.Start()
	time.Sleep(2*time.Second)
	t.Log(w.plain(w.bin, "approvals", "--json"))
	t.Log(w.plain(w.bin, "ps"))
	fmt.Println(w.plain("sh", "-c", fmt.Sprintf("ls -la; ps -ef --forest | grep -A4 'carrel run'; for t in /proc/%d/task/*; do cat $t/wchan; echo; done", cmd.Process.Pid)))
	cmd.Process.Kill()
	cmd.Wait()
}
