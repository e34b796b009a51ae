package landlock

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	ok     = 0
	eACCES = int(unix.EACCES)
	eEXDEV = int(unix.EXDEV)
	ePERM  = int(unix.EPERM)
)

func TestApplyReportsWhatHolds(t *testing.T) {
	abi := needABI(t, abiScopes)
	for name, row := range map[string]struct {
		ruleset Ruleset
		want    Applied
	}{
		"files":  {Ruleset{Files: true}, Applied{ABI: abi, Files: true, Devices: true}},
		"scopes": {Ruleset{ScopeAbstract: true, ScopeSignal: true}, Applied{ABI: abi, Scopes: Abstract | Signal}},
		"signal": {Ruleset{ScopeSignal: true}, Applied{ABI: abi, Scopes: Signal}},
	} {
		found := child(t, order{Ruleset: &row.ruleset, Try: "terminal"}, 0)
		if found.Applied != row.want {
			t.Errorf("%s: got %+v, want %+v", name, found.Applied, row.want)
		}
	}
}

// What is open stays open, but cannot be opened again for more.
func TestOpenDescriptorsStay(t *testing.T) {
	needABI(t, abiFiles)
	dir := layout(t)
	ruleset := Ruleset{Files: true, Rules: []Rule{{Path: "/", Access: ReadWrite}}}
	found := child(t, order{Ruleset: &ruleset, Try: "held", Dir: dir}, 0)
	if want := map[string]int{"write": ok, "truncate": ok, "reopen": eACCES}; !maps.Equal(found.Errno, want) {
		t.Errorf("got %v, want %v", found.Errno, want)
	}
}

func TestTerminals(t *testing.T) {
	needABI(t, abiDevices)
	root := Rule{Path: "/", Access: ReadExec}
	for _, row := range []struct {
		name  string
		rules []Rule
		want  map[string]int
	}{
		{"read only", []Rule{root}, map[string]int{"open": eACCES}},
		{"no requests", []Rule{root, {Path: "/dev", Access: Read | Write}},
			map[string]int{"open": ok, "window size": eACCES, "number": eACCES, "close on exec": ok}},
		{"everything", []Rule{root, {Path: "/dev", Access: ReadWrite}},
			map[string]int{"open": ok, "window size": ok, "number": ok, "close on exec": ok}},
		{"the device alone", []Rule{root, {Path: "/dev/ptmx", Access: ReadWrite}},
			map[string]int{"open": ok, "window size": ok, "number": ok, "close on exec": ok}},
	} {
		ruleset := Ruleset{Files: true, Rules: row.rules}
		if found := child(t, order{Ruleset: &ruleset, Try: "terminal"}, 0); !maps.Equal(found.Errno, row.want) {
			t.Errorf("%s: got %v, want %v", row.name, found.Errno, row.want)
		}
	}
}

func TestMounts(t *testing.T) {
	needABI(t, abiScopes)
	if out, err := exec.Command("unshare", "-Urm", "true").CombinedOutput(); err != nil {
		t.Skipf("this machine makes no user and mount namespaces: %v\n%s", err, out)
	}
	works := map[string]int{"propagation": ok, "bind": ok, "remount": ok, "tmpfs": ok, "umount": ok, "nested": ok}
	refused := map[string]int{"propagation": ePERM, "bind": ePERM, "remount": ePERM, "tmpfs": ePERM, "umount": int(unix.EINVAL), "nested": 1} // nothing is mounted there
	for _, row := range []struct {
		name    string
		ruleset *Ruleset
		want    map[string]int
	}{
		{"no domain", nil, works},
		{"scopes only", &Ruleset{ScopeAbstract: true, ScopeSignal: true}, works},
		{"files, everything granted", &Ruleset{Files: true, Rules: []Rule{{Path: "/", Access: ReadWrite}}}, refused},
	} {
		o := order{Ruleset: row.ruleset, Try: "mounts", Dir: layout(t)}
		found := child(t, o, unix.CLONE_NEWUSER|unix.CLONE_NEWNS)
		if !maps.Equal(found.Errno, row.want) {
			t.Errorf("%s: got %v, want %v", row.name, found.Errno, row.want)
		}
	}
}

func TestOutside(t *testing.T) {
	needABI(t, abiScopes)
	outside := exec.Command("/bin/sleep", "60")
	if err := outside.Start(); err != nil {
		t.Fatal(err)
	}
	defer outside.Wait()
	defer outside.Process.Kill()
	for i, row := range []struct {
		name    string
		ruleset *Ruleset
		refused string
	}{
		{"no domain", nil, ""},
		{"files", &Ruleset{Files: true, Rules: []Rule{{Path: "/", Access: ReadWrite}}}, "trace outside"},
		{"abstract", &Ruleset{ScopeAbstract: true}, "trace outside,connect outside,send outside"},
		{"signal", &Ruleset{ScopeSignal: true}, "trace outside,signal outside,signal parent,pidfd outside"},
		{"both", &Ruleset{ScopeAbstract: true, ScopeSignal: true},
			"trace outside,connect outside,send outside,signal outside,signal parent,pidfd outside"},
	} {
		name := fmt.Sprintf("carrel-landlock-test-%d-%d", os.Getpid(), i)
		closeSockets := openSockets(t, name)
		o := order{Ruleset: row.ruleset, Try: "outside", Outside: outside.Process.Pid, Name: name}
		found := child(t, o, 0)
		closeSockets()
		for what, errno := range found.Errno {
			want := ok
			if slices.Contains(strings.Split(row.refused, ","), what) {
				want = ePERM
			}
			if errno != want {
				t.Errorf("%s: %s answered %d, want %d", row.name, what, errno, want)
			}
		}
	}
}

// openSockets makes abstract sockets outside the domain, one for streams and
// one for datagrams.
func openSockets(t *testing.T, name string) func() {
	t.Helper()
	stream, err := listenAbstract("@" + name)
	if err != nil {
		t.Fatal(err)
	}
	datagrams, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Bind(datagrams, &unix.SockaddrUnix{Name: "@" + name + "-datagrams"}); err != nil {
		t.Fatal(err)
	}
	return func() {
		unix.Close(stream)
		unix.Close(datagrams)
	}
}

func TestApplyNeedsNoNewPrivs(t *testing.T) {
	needABI(t, abiFiles)
	if found := child(t, order{Try: "privilege"}, 0); found.Errno["apply"] != ePERM {
		t.Errorf("answered %d, want EPERM", found.Errno["apply"])
	}
}

// A mistake must be found before the thread is confined.
func TestApplyErrorsConfineNothing(t *testing.T) {
	abi := needABI(t, abiFiles)
	runtime.LockOSThread() // the thread ends with the test
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	rule := func(r Rule) Ruleset { return Ruleset{Files: true, Rules: []Rule{r}} }
	for name, r := range map[string]Ruleset{
		"nothing asked for":     {},
		"path is missing":       rule(Rule{Path: filepath.Join(dir, "missing\xff"), Access: Read}),
		"descriptor is closed":  rule(Rule{FD: 1 << 20, Access: Read}),
		"level beyond all":      {Files: true, MinABI: abi + 1},
		"relative path":         rule(Rule{Path: "file", Access: Read}),
		"nothing left for file": rule(Rule{Path: file, Access: 1 << 7}),
	} {
		got, err := Apply(r)
		if err == nil || got != (Applied{}) {
			t.Errorf("%s: got %+v, %v; want an error", name, got, err)
		}
		var lacks *UnsupportedError
		if name == "level beyond all" && (!errors.As(err, &lacks) || lacks.Found != abi || lacks.Needed != abi+1) {
			t.Errorf("%s: got %v, want both levels", name, err)
		}
	}
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Errorf("the thread is confined: %v", err)
	}
}

func TestConstantsAreTheKernels(t *testing.T) {
	for name, pair := range map[string][2]uint64{
		"execute":     {fsExecute, unix.LANDLOCK_ACCESS_FS_EXECUTE},
		"write file":  {fsWriteFile, unix.LANDLOCK_ACCESS_FS_WRITE_FILE},
		"read file":   {fsReadFile, unix.LANDLOCK_ACCESS_FS_READ_FILE},
		"read dir":    {fsReadDir, unix.LANDLOCK_ACCESS_FS_READ_DIR},
		"remove dir":  {fsRemoveDir, unix.LANDLOCK_ACCESS_FS_REMOVE_DIR},
		"remove file": {fsRemoveFile, unix.LANDLOCK_ACCESS_FS_REMOVE_FILE},
		"char":        {fsMakeChar, unix.LANDLOCK_ACCESS_FS_MAKE_CHAR},
		"dir":         {fsMakeDir, unix.LANDLOCK_ACCESS_FS_MAKE_DIR},
		"reg":         {fsMakeReg, unix.LANDLOCK_ACCESS_FS_MAKE_REG},
		"sock":        {fsMakeSock, unix.LANDLOCK_ACCESS_FS_MAKE_SOCK},
		"fifo":        {fsMakeFifo, unix.LANDLOCK_ACCESS_FS_MAKE_FIFO},
		"block":       {fsMakeBlock, unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK},
		"sym":         {fsMakeSym, unix.LANDLOCK_ACCESS_FS_MAKE_SYM},
		"refer":       {fsRefer, unix.LANDLOCK_ACCESS_FS_REFER},
		"truncate":    {fsTruncate, unix.LANDLOCK_ACCESS_FS_TRUNCATE},
		"ioctl dev":   {fsIoctlDev, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
		"abstract":    {scopeAbstract, unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET},
		"signal":      {scopeSignal, unix.LANDLOCK_SCOPE_SIGNAL},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %#x, the kernel has %#x", name, pair[0], pair[1])
		}
	}
}

func BenchmarkApply(b *testing.B) {
	needABI(b, abiScopes)
	dir := b.TempDir()
	total, rounds := 0, 0
	for b.Loop() {
		total += child(b, order{Try: "cost", Dir: dir}, 0).Errno["apply ns"]
		rounds++
	}
	b.ReportMetric(float64(total)/float64(rounds)/1000, "µs/apply")
}
