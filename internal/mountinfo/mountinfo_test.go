package mountinfo

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	text := `22 27 0:21 / /proc rw,nosuid - proc proc rw
24 27 0:6 / /with\040space rw shared:2 master:1 - ext4 /dev/sd\040a ro,errors=continue
25 27 0:6 /sub /back\134slash ro - btrfs none rw

short
1 2 3 / /no-system rw
1 2 3 / - ext4 a rw
26 27 0:6 / /end\04 rw - tmpfs t ro`
	want := []Mount{{"/proc", "proc", false}, {"/with space", "ext4", true}, {`/back\slash`, "btrfs", false}, {`/end\04`, "tmpfs", true}}
	if got := Parse(text); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("22 27 0:21 / /proc rw - proc proc rw\n")
	f.Add("24 27 0:6 / /a\\040b rw - ext4 d ro")
	f.Fuzz(func(t *testing.T, text string) {
		if got := Parse(text); len(got) > strings.Count(text, "\n")+1 {
			t.Errorf("%d mounts", len(got))
		}
	})
}
