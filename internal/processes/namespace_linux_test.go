package processes

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// namespaceOf starts a script as the first process of a PID namespace of its own, with
// the label that this thread gives, and waits until it says that it is ready.
func namespaceOf(t *testing.T, script string) *Namespace {
	t.Helper()
	outer := exec.Command("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c", script)
	said, err := outer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := outer.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = outer.Process.Kill(), outer.Wait() })
	if _, err := bufio.NewReader(said).ReadString('\n'); err != nil {
		t.Skipf("no PID namespace can be made here: %v", err)
	}
	stage := 0
	for pid, p := range Below(outer.Process.Pid) {
		if p.Parent == outer.Process.Pid {
			stage = pid
		}
	}
	list, err := os.Open("/proc/" + strconv.Itoa(stage) + "/root/proc")
	if err != nil {
		t.Fatal(err)
	}
	n := NewNamespace(stage, list)
	t.Cleanup(n.Close)
	return n
}

// asleep counts the programs inside that have become what they are to be.
func asleep(stage int) (n int) {
	for pid := range Below(stage) {
		if argv := Argv(pid); len(argv) == 2 && argv[0] == "sleep" {
			n++
		}
	}
	return n
}

// TestNamespaceLooksInsideOnly: what is outside is not looked at, however much it is;
// nothing inside escapes by a double fork, a session or a PID namespace of its own.
func TestNamespaceLooksInsideOnly(t *testing.T) {
	const label = 4715
	if !sandbox.SetLabel(label) {
		t.Fatal("no label can be set")
	}
	n := namespaceOf(t, `
		sleep 5412 &
		setsid sleep 5413 &
		(setsid sh -c 'sleep 5414 & ') &
		unshare --pid --fork --kill-child sh -c 'exec sleep 5415' &
		echo ready
		wait; sleep 5416`)
	sandbox.SetLabel(0)
	const want = 5
	for end := time.Now().Add(10 * time.Second); asleep(n.stage) != 4 || len(Below(n.stage)) != want+1; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%v inside", Below(n.stage))
		}
	}
	_, few, _ := n.look()
	for range 60 {
		one := exec.Command("sleep", "5417")
		sandbox.SetLabel(label)
		err := one.Start()
		sandbox.SetLabel(0)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _, _ = one.Process.Kill(), one.Wait() }()
	}
	count, many, known := n.look()
	if !known || count[label] != want || len(count) != 1 {
		t.Errorf("%v, known %v, want %d", count, known, want)
	}
	if many > 2*want || few > 2*want {
		t.Errorf("looked at %d processes, and at %d with 60 more outside; %d are inside", few, many, want)
	}
	if got := n.Count(label); got != want {
		t.Errorf("Count is %d, want %d", got, want)
	}
}

// TestNamespaceThatCannotTell: without a procfs, with another's, and with more processes
// than are read one by one, all of the machine are looked at.
func TestNamespaceThatCannotTell(t *testing.T) {
	const label = 4716
	if !sandbox.SetLabel(label) {
		t.Fatal("no label can be set")
	}
	one := exec.Command("sleep", "5418")
	err := one.Start()
	crowd := namespaceOf(t, `for i in {1..`+strconv.Itoa(maxInside+1)+`}; do sleep 5419 & done; echo ready; wait`)
	sandbox.SetLabel(0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = one.Process.Kill(), one.Wait() }()
	for name, open := range map[string]string{"none": "", "no procfs": "/", "another's": "/proc"} {
		var list *os.File
		if open != "" {
			if list, err = os.Open(open); err != nil {
				t.Fatal(err)
			}
		}
		n := NewNamespace(os.Getpid(), list)
		if _, known := n.Counts(); known {
			t.Errorf("%s: it is said to be known", name)
		}
		if got := n.Count(label); got == 0 {
			t.Errorf("%s: nothing is found", name)
		}
	}
	if _, known := crowd.Counts(); known {
		t.Error("a crowd is read one by one")
	}
	if got := crowd.Count(label); got != maxInside+1 {
		t.Errorf("%d of %d are found", got, maxInside+1)
	}
	stage, ok := Read(crowd.stage)
	if !ok {
		t.Fatal("the namespace has ended")
	}
	Signal([]Process{stage}, unix.SIGKILL)
	for end := time.Now().Add(10 * time.Second); crowd.Count(label) != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a namespace that has ended is not empty")
		}
	}
}

// TestParsedLabel: the text of the kernel says the same as the system call.
func TestParsedLabel(t *testing.T) {
	defer sandbox.SetLabel(0)
	for _, label := range []uint64{0, 1, 4717} {
		if !sandbox.SetLabel(label) {
			t.Fatal("no label can be set")
		}
		text, err := os.ReadFile("/proc/thread-self/limits")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := sandbox.ParseLabel(text); err != nil || got != label {
			t.Errorf("%d, %v, want %d", got, err, label)
		}
	}
	for _, text := range []string{"", "Max realtime timeout  5", "\nMax realtime timeout ", "\nMax realtime timeout     x us"} {
		if _, err := sandbox.ParseLabel([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
