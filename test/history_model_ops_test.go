//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// op is one change to a tree: its name and its operands. Paths are relative to the
// project. A text and how often it is repeated stand for a content.
type op []string

// modelChanges are the operations by name: how a process carries one out, and how a person
// types it in a shell. An operation that fails is a part of the test like any other.
var modelChanges = map[string]struct {
	do    func(a []string) error
	shell string // %s for each operand; a content is one operand
}{
	"mkdir":  {func(a []string) error { return os.Mkdir(a[0], 0o755) }, "mkdir %s"},
	"create": {func(a []string) error { return put(a, unix.O_CREAT|unix.O_EXCL) }, "set -C; %[2]s > %[1]s; set +C"},
	"write":  {func(a []string) error { return put(a, unix.O_CREAT|unix.O_TRUNC) }, "%[2]s > %[1]s"},
	"append": {func(a []string) error { return put(a, unix.O_CREAT|unix.O_APPEND) }, "%[2]s >> %[1]s"},
	"patch":  {func(a []string) error { return put(a, 0) }, "%[2]s 1<> %[1]s"},
	"sneak":  {sneak, "touch -r %[1]s ../time; %[2]s 1<> %[1]s; touch -r ../time %[1]s"},
	"save":   {save, "%[2]s > %[1]s~; mv -fT %[1]s~ %[1]s"},
	"sparse": {sparse, "truncate -s +300000 %[1]s; %[2]s >> %[1]s"},
	"mmap": {mapped,
		`python3 -c 'import mmap,sys; mmap.mmap(open(sys.argv[1],"r+b").fileno(),0)[:6]=sys.stdin.buffer.read(6)' %[1]s <<< $(%[2]s)`},
	"truncate": {func(a []string) error { return os.Truncate(a[0], int64(digits(a[1]))) }, "truncate -s %[2]s %[1]s"},
	"rename":   {func(a []string) error { return unix.Rename(a[0], a[1]) }, `python3 -c 'import os,sys; os.rename(*sys.argv[1:])' %s %s`},
	"exchange": {func(a []string) error {
		return unix.Renameat2(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], unix.RENAME_EXCHANGE)
	},
		`python3 -c 'import ctypes,os,sys; ctypes.CDLL(None).renameat2(-100,os.fsencode(sys.argv[1]),-100,os.fsencode(sys.argv[2]),2)' %s %s`},
	"link":    {func(a []string) error { return unix.Link(a[0], a[1]) }, "ln -PT %s %s"},
	"unlink":  {func(a []string) error { return unix.Unlink(a[0]) }, "unlink %s"},
	"rmtree":  {removeTree, "rm -rf %s"},
	"symlink": {func(a []string) error { return unix.Symlink(a[0], a[1]) }, "ln -sT %s %s"},
	"fifo":    {func(a []string) error { return unix.Mkfifo(a[0], 0o640) }, "mkfifo -m 640 %s"},
	"chmod":   {func(a []string) error { return unix.Chmod(a[1], uint32(octal(a[0]))) }, "chmod %s %s"},
	"touch":   {sameTime, "touch -r %[1]s %[1]s"},
	"age":     {func(a []string) error { return setTime(a[0], unix.Timespec{Sec: 499162500}) }, "touch -d @499162500 %s"},
	"set": {func(a []string) error { return unix.Setxattr(a[0], a[1], []byte(a[2]), 0) },
		`python3 -c 'import os,sys; os.setxattr(sys.argv[1],sys.argv[2],sys.argv[3].encode())' %s %s %s`},
	"unset": {func(a []string) error { return unix.Removexattr(a[0], a[1]) },
		`python3 -c 'import os,sys; os.removexattr(*sys.argv[1:])' %s %s`},
	"hold": {waitForEnd, "cat"},
}

// contents are the operations whose second operand is a text, and the third a count.
const contents = " create write append patch sneak save sparse mmap "

// attackChange carries out one operation of the model.
func attackChange(args []string) (string, error) {
	c, ok := modelChanges[args[0]]
	if !ok {
		return "", fmt.Errorf("no operation %q", args[0])
	}
	return "", c.do(args[1:])
}

// changeWords are the arguments that make the attacker carry out operations.
func changeWords(ops []op) []string {
	var out []string
	for i, o := range ops {
		if i > 0 {
			out = append(out, "--")
		}
		out = append(append(out, "change"), o...)
	}
	return out
}

// String is what a person types.
func (o op) String() string {
	var operands []any
	for i, word := range o[1:] {
		switch {
		case strings.Contains(contents, " "+o[0]+" ") && i == 1 && o[3] == "0":
			operands = append(operands, ":")
		case strings.Contains(contents, " "+o[0]+" ") && i == 1 && o[3] == "1":
			operands = append(operands, "printf %s "+quoted(word))
		case strings.Contains(contents, " "+o[0]+" ") && i == 1:
			operands = append(operands, "printf '%.0s"+word+"' $(seq "+o[3]+")")
		case strings.Contains(contents, " "+o[0]+" ") && i == 2:
		case strings.HasPrefix(word, "-"):
			operands = append(operands, quoted("./"+word))
		default:
			operands = append(operands, quoted(word))
		}
	}
	if len(operands) == 0 {
		return modelChanges[o[0]].shell
	}
	return fmt.Sprintf(modelChanges[o[0]].shell, operands...)
}

// typed is operations as a person types them in bash.
func typed(ops []op) string {
	var out []string
	for _, o := range ops {
		out = append(out, o.String())
	}
	return strings.Join(out, "; ")
}

// quoted is a word for bash.
func quoted(s string) string {
	plain := func(r rune) bool {
		return r > ' ' && r < 0x7f && !strings.ContainsRune(`'"$&;|<>()*?[]#~=%!{}\`+"`", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	if strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0 {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return "$'" + strings.ReplaceAll(strings.Trim(strconv.QuoteToASCII(s), `"`), "'", `\'`) + "'"
}

func digits(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func octal(s string) uint64 {
	n, _ := strconv.ParseUint(s, 8, 32)
	return n
}

func textOf(a []string) []byte { return []byte(strings.Repeat(a[1], digits(a[2]))) }

// put writes a content from the beginning, or from the end with O_APPEND. A FIFO
// without a reader is an error.
func put(a []string, flags int) error {
	f, err := os.OpenFile(a[0], flags|unix.O_WRONLY|unix.O_NONBLOCK, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(textOf(a))
	return errors.Join(err, f.Close())
}

// sneak writes in place and gives the file its time back.
func sneak(a []string) error {
	var st unix.Stat_t
	if err := unix.Stat(a[0], &st); err != nil {
		return err
	}
	if err := put(a, 0); err != nil {
		return err
	}
	return setTime(a[0], st.Mtim)
}

func setTime(path string, at unix.Timespec) error {
	return unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{{Nsec: unix.UTIME_OMIT}, at}, 0)
}

func sameTime(a []string) error {
	var st unix.Stat_t
	if err := unix.Stat(a[0], &st); err != nil {
		return err
	}
	return setTime(a[0], st.Mtim)
}

// save replaces a file as editors do.
func save(a []string) error {
	if err := put([]string{a[0] + "~", a[1], a[2]}, unix.O_CREAT|unix.O_TRUNC); err != nil {
		return err
	}
	return unix.Rename(a[0]+"~", a[0])
}

// sparse appends a content behind a hole.
func sparse(a []string) error {
	var st unix.Stat_t
	if err := unix.Stat(a[0], &st); err != nil {
		return err
	}
	if err := os.Truncate(a[0], st.Size+300_000); err != nil {
		return err
	}
	return put(a, unix.O_APPEND)
}

// mapped writes through a mapping.
func mapped(a []string) error {
	fd, err := unix.Open(a[0], unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	m, err := unix.Mmap(fd, 0, len(a[1]), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Size >= int64(len(a[1])) {
		copy(m, a[1])
	}
	return errors.Join(err, unix.Munmap(m))
}

// waitForEnd says that it waits, and waits for the end of its input.
func waitForEnd([]string) error {
	fmt.Println("held")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// removeTree does not wait for a FIFO in place of the directory, as [os.RemoveAll] does.
func removeTree(a []string) error {
	if st, err := os.Stat(filepath.Dir(a[0])); err == nil && !st.IsDir() {
		return unix.ENOTDIR
	}
	return os.RemoveAll(a[0])
}
