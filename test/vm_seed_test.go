//go:build linux && vm

package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// TestSeedInMachine follows that README where a machine of QEMU has the kernel, with its flags for the machine.
func TestSeedInMachine(t *testing.T) {
	t.Parallel()
	w := inMachines(t, ordinary(t))
	dir, _ := vmImage()
	const memory = 384
	b := &seedBox{asks: w.read(w.home + "/.config/carrel/config.yaml"), kernel: "cloud", vmStatus: "running",
		flags: []string{"--backend", "vm", "--accel", "tcg", "--memory-mb", strconv.Itoa(memory), "--cpus", "1",
			"--kernel-path", dir + "/kernel", "--initrd-path", dir + "/initrd"}}
	w.config("")
	c := w.stdio(append([]string{"--working-dir", w.project}, b.flags...)...)
	c.do("session.start", nil)
	c.do("agent.execute", args{"command": "{ nproc; sed -n 's/MemTotal: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo; } >size"})
	c.event("step_completed")
	size := strings.Fields(w.read(w.project + "/size"))
	if len(size) != 2 || size[0] != "1" {
		t.Fatalf("processors and KiB of the machine: %q", size)
	}
	if kib, err := strconv.Atoi(size[1]); err != nil || kib > memory<<10 || kib < memory<<9 {
		t.Errorf("the machine has %q KiB, of %d MiB", size[1], memory)
	}
	// A machine that is killed ends the session, which says so.
	pid := fmt.Sprint(c.do("fs.status", nil)["carrel.supervisor_pid"])
	w.outsideSh("pkill -KILL -f qemu-system -P " + pid)
	eventually(t, "the session to end", func() bool { return c.do("session.status", nil)["state"] == "idle" })
	if got := c.do("session.status", nil); got["vm_status"] != "unavailable" {
		t.Errorf("without its machine: %v", got)
	}
	c.do("session.start", nil)
	if got := c.do("undo.rollback", args{"count": 1}); exists(w.project + "/size") {
		t.Errorf("the step of the machine that was killed is still there: %v", got)
	}
	c.do("session.stop", nil)
	c.close()
	w.seed(b)
}
