//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// TestB1MasksHold: masked and denied content cannot be had through the broker.
func TestB1MasksHold(t *testing.T) {
	hold(t, hostile{name: "every way to a masked file", canary: true, body: program("broker_attacks_paths/every_way_to_a_masked_file.py")})
}

// TestB2NoWritableReopen: a descriptor for reading never becomes one for
// writing, whatever its name in procfs; what is named so is decided and recorded.
func TestB2NoWritableReopen(t *testing.T) {
	hold(t, hostile{name: "every name of a descriptor", canary: true, want: "changed", after: "cat .vscode/tasks.json .git/config", body: program("broker_attacks_paths/every_name_of_a_descriptor.py")})
}

// TestB2WithoutLandlock: at level full no file rule of Landlock closes procfs'
// names of descriptors, and calls of who has mounts of its own are continued.
// Even so a descriptor for reading gives no more, and what another gives is the
// file that it was granted for, which is in the record.
func TestB2WithoutLandlock(t *testing.T) {
	hold(t, hostile{name: "in mounts of one's own", flags: []string{"--nested", "full"}, want: "EROFS EROFS EROFS", never: "GOT", after: "cat .git/config file", body: program("broker_attacks_paths/in_mounts_of_ones_own.py")},
		hostile{name: "by a text that changes", flags: []string{"--nested", "full"}, want: "raced", never: "GOT", after: "cat .git/config", body: program("broker_attacks_paths/by_a_text_that_changes.py")})
}

// TestB3StandardDescriptors: they are relayed, so none leads to a host file.
func TestB3StandardDescriptors(t *testing.T) {
	body := program("broker_attacks_paths/standard_descriptors.py")
	eachPerson(t, func(t *testing.T, p person) {
		for how, want := range map[string]string{"<": "SECRET\n", ">>": "SECRET\nsaid\n", "2>>": "SECRET\ntold\n"} {
			a := hostile{name: "stdio " + how, body: body}
			for _, walls := range []bool{false, true} {
				w := a.prepare(t, p)
				before := w.lie(w.outside)
				command := "python3 " + w.base + "/tool/attack.py "
				if walls {
					command = w.bin + " run --env HOW='" + how + "' --read " + w.base + "/tool -- " + command
				}
				w.setenv("HARMLESS", "1")
				w.setenv("HOW", how)
				r := w.plain("bash", "-c", command+how+" "+w.outside+"/s")
				got, _, _ := strings.Cut(w.read(w.outside+"/s"), "carrel: ") // its own words go there, too
				if (got == want) != walls || r.code != 7 {
					t.Errorf("%s, walls %v: the file is %q, want %q: %s", how, walls, got, want, r)
				}
				if c := changes(before, w.lie(w.outside)); walls && how == "<" && len(c) != 0 {
					t.Errorf("%s: changed: %q", how, c)
				}
			}
		}
	})
}

// TestB4NoDescriptorsOfOurs: a command has its three, and sees none of the stage's.
func TestB4NoDescriptorsOfOurs(t *testing.T) {
	hold(t, hostile{name: "descriptors", want: "[0, 1, 2]", never: "OPENED", body: program("broker_attacks_paths/descriptors.py")})
}

// TestB5NoDirectories: no granted descriptor is a directory's; ".." stays below the root.
func TestB5NoDirectories(t *testing.T) {
	hold(t, hostile{name: "up", canary: true, never: "MIRROR", body: program("broker_attacks_paths/up.py")})
}

// TestB7NobodyElsesFiles: hands have the caller's user and no capability. As
// root only: nobody else can be asked to touch another user's files and be able.
func TestB7NobodyElsesFiles(t *testing.T) {
	hold(t, hostile{name: "as root", root: true, canary: true, setup: "echo kept > o; chmod 600 o; mkdir od; echo kept > od/f; chmod 700 od; chown -R 4242:4242 o od", after: "cat o od/*; stat -c 'EVIL %a %u' o | grep -v ' 600 4242'; true",
		body: program("broker_attacks_paths/as_root.py")})
}

// TestB11HardLinks: none from what is protected or elsewhere.
func TestB11HardLinks(t *testing.T) {
	hold(t, hostile{name: "every source", canary: true, alone: true, setup: "git init -q sub", after: "cat .git/config .vscode/tasks.json sub/.git/config", body: program("broker_attacks_paths/every_source.py")})
}

// TestB12ForeignRoots: who has a root or mounts of its own changes nothing of
// the project by name, not even with directories that it brought along.
func TestB12ForeignRoots(t *testing.T) {
	body := program("broker_attacks_paths/foreign_roots.py")
	after := "ls | grep -x EVIL; cat file | grep -q one || echo EVIL"
	hold(t, hostile{name: "chroot", canary: true, flags: []string{"--nested", "userns"}, after: after, body: "SPACES = 0x10000000\ndef enter(): say(t(os.chroot, 'jail'))\n" + body},
		hostile{name: "mounts", flags: []string{"--nested", "full"}, after: after, body: "SPACES = 0x10020000\ndef enter(): say(L.mount(b'jail', os.getcwd().encode(), None, 4096, None), L.mount(b'none', b'/tmp', b'tmpfs', 0, None))\n" + body})
}
