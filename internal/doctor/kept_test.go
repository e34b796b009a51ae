package doctor

import (
	"errors"
	"strings"
	"syscall"
	"testing"
)

// counting is a healthy machine that counts its probes.
func counting(probes *int) *Machine {
	m := healthy()
	m.Namespace = func(...Kind) error { *probes++; return nil }
	m.Try = func(Trial) error { *probes++; return nil }
	m.Memory = func() error { *probes++; return nil }
	m.Cgroup = func(string) error { *probes++; return nil }
	return m
}

func TestAnswersAreKept(t *testing.T) {
	probes := 0
	m := counting(&probes)
	first := newAnswers("boot 1")
	if r := Examine(first.On(m)); !r.Ready || probes == 0 || first.Kept() != 0 || !first.fresh {
		t.Fatalf("ready %v, %d probes, %d kept", r.Ready, probes, first.Kept())
	}
	asked := probes
	second := newAnswers("boot 1")
	second.decode(first.encode())
	if r := Examine(second.On(m)); !r.Ready || probes != asked || second.Kept() != asked || second.fresh {
		t.Errorf("ready %v, %d probes more, %d of %d kept", r.Ready, probes-asked, second.Kept(), asked)
	}
}

// TestRefusalsAreNotKept: who has followed the advice must not be told the same
// again.
func TestRefusalsAreNotKept(t *testing.T) {
	a := newAnswers("boot 1")
	m := healthy()
	m.Memory = func() error { return syscall.EPERM }
	for range 2 {
		if c := Examine(a.On(m)).Check("memory"); c.Status == OK {
			t.Errorf("a refusal became %+v", c)
		}
	}
	m.Memory = func() error { return nil }
	if c := Examine(a.On(m)).Check("memory"); c.Status != OK {
		t.Errorf("got %+v", c)
	}
}

// TestAnswersThatDoNotCount: torn, changed, of another form, boot or program.
func TestAnswersThatDoNotCount(t *testing.T) {
	a := newAnswers("boot 1")
	if err := a.ask("try mounts", func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	good := string(a.encode())
	other := newAnswers("boot 2")
	tests := map[string]string{
		"empty":            "",
		"no line":          "x",
		"torn at the end":  good[:len(good)-1],
		"torn in the sum":  good[:len(good)-9],
		"one answer more":  strings.Replace(good, "try mounts\n", "try mounts\ntry proc\n", 1),
		"another boot":     string(other.encode()),
		"another form":     resummed(strings.Replace(good, answersHead, "carrel-doctor 2", 1)),
		"too long":         resummed(strings.Replace(good, "try mounts\n", "try mounts\n"+strings.Repeat("x\n", maxAnswers), 1)),
		"something behind": good + "\n",
		"only a sum":       resummed("sum \n"),
	}
	for cut := range len(good) {
		tests["cut at "+string(rune('0'+cut%10))+good[:cut]] = good[:cut]
	}
	for name, text := range tests {
		b := newAnswers("boot 1")
		b.decode([]byte(text))
		if len(b.yes) > 0 {
			t.Errorf("%.40q: %v was taken from %q", name, b.yes, text)
		}
	}
	canary := newAnswers("boot 1")
	canary.decode([]byte(resummed(good)))
	if !canary.yes["try mounts"] {
		t.Errorf("canary: nothing was taken from %q", good)
	}
}

// resummed gives a text a sum that is right.
func resummed(text string) string {
	at := strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n")
	return text[:at+1] + "sum " + sum(text[:at+1]) + "\n"
}

func FuzzAnswers(f *testing.F) {
	a := newAnswers("k")
	_ = a.ask("try proc", func() error { return nil })
	f.Add(a.encode())
	f.Add([]byte("carrel-doctor 1\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := newAnswers("k")
		b.decode(data)
		if len(b.yes) > 0 && string(b.encode()) != string(data) && len(data) < len(b.encode()) {
			t.Errorf("%q became %q", data, b.encode())
		}
	})
}

func TestAskKeepsErrors(t *testing.T) {
	a := newAnswers()
	want := errors.New("no")
	if err := a.ask("x", func() error { return want }); err != want || a.fresh {
		t.Errorf("got %v, fresh %v", err, a.fresh)
	}
}
