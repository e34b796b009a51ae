package guard

import (
	"strings"
	"testing"
)

func TestMercurialSettings(t *testing.T) {
	dir := t.TempDir()
	d := testGuard(t, dir, false)
	const was = "[hooks]\nx = y\n"
	for text, good := range map[string]bool{
		"": true, "# x\n\n[paths]\ndefault = https://example.com/x\ndefault:pushurl = ../x\n[ui]\nusername = Ada <a@b>\n": true,
		"[paths]\r\ndefault = x\r\n": true, was: true, was + "[paths]\na = b\n": true, "[phases]\npublish = no\n": true,
		"[hooks]\nx = z\n": false, "[ui]\neditor = x\n": false, "[paths]\na = b\n  c\n": false,
		"%include x\n": false, "[paths]\n%include = x\n": false,
		"# x\r[hooks]\nz = x\n": false, "[paths]\n[hooks]y = z\nz = x\n": false, "[paths\n": false, " [hooks]\nz = x\n": false, "z = x\n": false,
		"\ufeff[hooks]\nz = x\n": false, "[paths][hooks]\nz = x\n": false,
	} {
		if err := hgSettings(d, dir+"/r/.hg", was, text); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestMercurialJournals(t *testing.T) {
	for lines, good := range map[string]bool{
		"data/f.i 120": true, "00changelog.i 0": true, "/x 0": false, "data/../../x 0": false, "lock/x 0": false, "LOCK/x 0": false, "lock.break/x 0": false,
	} {
		if err := hgJournal(strings.ReplaceAll(lines, " ", "\x00") + "\n"); (err == nil) != good {
			t.Errorf("%q: %v", lines, err)
		}
	}
	for line, good := range map[string]bool{
		"plain dirstate journal.backup.dirstate 0": true, " fncache journal.backup.fncache 0": true, " data/hgrc.i b 0": true, "plain b  0": true,
		"plain hgrc b 0": false, "plain HGRC b 0": false, "plain x/hgrc b 0": false, "plain wlock/x b 0": false, "store ../x b 0": false,
		"plain x ../b 0": false, "plain /x b 0": false, "plain hgrc": false, "plain sharedpath b 0": false,
	} {
		if err := hgBackups("2\n" + strings.ReplaceAll(line, " ", "\x00") + "\n"); (err == nil) != good {
			t.Errorf("%q: %v", line, err)
		}
	}
}
