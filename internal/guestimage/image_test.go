package guestimage

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func build(t *testing.T, name string) *Image {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	i, err := Build(f)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// entries reads archives that follow each other, as a kernel does: names with the modes, and contents.
func entries(t *testing.T, text []byte) (names []string, content map[string][]byte) {
	t.Helper()
	content = make(map[string][]byte)
	for whole := text; ; {
		for len(text) > 0 && text[0] == 0 {
			text = text[1:]
		}
		if len(text) == 0 {
			return names, content
		}
		if at := len(whole) - len(text); at%4 != 0 || string(text[:6]) != "070701" {
			t.Fatalf("at %d: %.6q", at, text)
		}
		field := func(i int) int {
			n, err := strconv.ParseUint(string(text[6+8*i:14+8*i]), 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
		round := func(n int) int { return (n + 3) / 4 * 4 }
		begin := round(110 + field(11))
		name := string(text[110 : 110+field(11)-1])
		if name != "TRAILER!!!" {
			names = append(names, strconv.FormatInt(int64(field(1)), 8)+" "+name)
			content[name] = text[begin : begin+field(6)]
		}
		if field(2) != 0 || field(3) != 0 || field(5) != 0 {
			t.Errorf("%s has an owner or a time", name)
		}
		text = text[begin+round(field(6)):]
	}
}

// TestBuild: the kernel, and the modules that are needed in an order in which they can be loaded.
func TestBuild(t *testing.T) {
	i := build(t, "kernel.deb")
	if string(i.Kernel) != "kernel" {
		t.Errorf("the kernel is %q", i.Kernel)
	}
	program := bytes.Repeat([]byte("program"), 999)
	names, content := entries(t, i.Starting(program))
	want := []string{
		"40755 carrel", "40755 carrel/modules", "100644 carrel/modules/00-virtio.ko", "100644 carrel/modules/01-virtio_ring.ko",
		"100644 carrel/modules/02-virtio_mmio.ko", "100644 carrel/modules/03-virtio_console.ko", "100644 carrel/modules/04-fuse.ko",
		"100644 carrel/modules/05-overlay.ko", "40755 dev", "20666 dev/null", "100755 init",
	}
	if !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
	if !bytes.Equal(content["init"], program) {
		t.Error("another program is started")
	}
	for name, text := range content {
		if strings.HasSuffix(name, ".ko") && !bytes.HasPrefix(text, []byte("\x7fELF")) {
			t.Errorf("%s is no module", name) // one of them is compressed in the package
		}
	}
	if again := build(t, "kernel.deb"); again.Digest() != i.Digest() {
		t.Error("the same package gives another image")
	}
}

// TestBadPackages: what is no package with a kernel and its modules is refused, and it is said what would be one.
func TestBadPackages(t *testing.T) {
	read := func(name string) []byte {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	whole := read("kernel.deb")
	for want, text := range map[string][]byte{
		"ends with .deb":         []byte("!<arch>"),
		"Debian 12":              whole[:100],
		"/boot/vmlinuz":          read("nokernel.deb"),
		"depends on itself":      read("loop.deb"),
		"which fuse needs":       read("absent.deb"),
		"truncated":              whole[:len(whole)-200],
		"says that its":          append(slices.Clone(whole[:8+48]), append([]byte("x"), whole[8+49:]...)...),
		"is no package of Debia": nil,
	} {
		if _, err := Build(bytes.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for end := len(whole) - 1; end > 0; end -= 1 + end/20 { // a package that was not fetched whole
		if _, err := Build(bytes.NewReader(whole[:end])); err == nil {
			t.Fatalf("%d bytes of it are taken", end)
		}
	}
}

// TestKept: an image is found as it was kept, and one that was changed is refused.
func TestKept(t *testing.T) {
	cache := t.TempDir()
	dir := Dir(func(name string) string { return map[string]string{"HOME": cache}[name] })
	if dir != cache+"/.cache/carrel/vm" {
		t.Errorf("images are in %s", dir)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "no image") {
		t.Errorf("of none: %v", err)
	}
	i := build(t, "kernel.deb")
	if err := i.Save(dir); err != nil {
		t.Fatal(err)
	}
	found, err := Load(dir)
	if err != nil || !bytes.Equal(found.Kernel, i.Kernel) || !bytes.Equal(found.Initrd, i.Initrd) {
		t.Fatalf("%v", err)
	}
	for path, text := range map[string]string{i.Digest() + "/kernel": "kernal", i.Digest() + "/initrd": "x", "current": "../x\n"} {
		at := filepath.Join(dir, path)
		was, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); err == nil {
			t.Errorf("a changed %s is taken", path)
		}
		if err := os.WriteFile(at, was, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Load(dir); err != nil {
		t.Errorf("as it was: %v", err)
	}
}

// TestNamedFiles: a kernel of one's own needs no archive; what is not there, or is too large, is refused.
func TestNamedFiles(t *testing.T) {
	kernel := filepath.Join(t.TempDir(), "kernel")
	if err := os.WriteFile(kernel, []byte("own"), 0o600); err != nil {
		t.Fatal(err)
	}
	i, err := Read(kernel, "")
	if err != nil || string(i.Kernel) != "own" || i.Initrd != nil {
		t.Fatalf("%+v %v", i, err)
	}
	if names, _ := entries(t, i.Starting([]byte("x"))); !slices.Equal(names, []string{"40755 dev", "20666 dev/null", "100755 init"}) {
		t.Errorf("%q", names)
	}
	if _, err := Read(kernel, kernel+".absent"); err == nil {
		t.Error("an archive that is not there is taken")
	}
	if err := os.Truncate(kernel, maxKernel+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(kernel, ""); err == nil || !strings.Contains(err.Error(), kernel) {
		t.Errorf("too large: %v", err)
	}
}
