package notices

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/api"
)

// TestReadWaits: what is told at the end is read while nothing is added to it.
func TestReadWaits(t *testing.T) {
	for name, read := range map[string]func(*Log) int{
		"notes":    func(l *Log) int { return len(l.Noted()) },
		"denials":  func(l *Log) int { return len(l.Refused()) },
		"to a try": func(l *Log) int { l.Passing()(); return 1 },
	} {
		t.Run(name, func(t *testing.T) {
			l := &Log{notes: []string{"a note"}, denials: []api.Denial{{Subject: "x"}}}
			l.mu.Lock()
			done := make(chan int)
			go func() { done <- read(l) }()
			select {
			case <-done:
				t.Error("it was read in the middle of something")
				l.mu.Unlock()
				return
			case <-time.After(50 * time.Millisecond):
			}
			l.mu.Unlock()
			if n := <-done; n != 1 {
				t.Errorf("%d", n)
			}
		})
	}
}

func TestTold(t *testing.T) {
	var l Log
	l.Note("%d of %s", 2, "three")
	over := l.Passing()
	l.NoteOnce("tried")
	over()
	for range 3 {
		l.NoteOnce("once")
	}
	if got := l.Noted(); !slices.Equal(got, []string{"2 of three", "once"}) {
		t.Errorf("notes: %q", got)
	}
	l.Noted()[0] = "changed"
	if l.Noted()[0] != "2 of three" {
		t.Error("who reads can change what was told")
	}
}

// TestDenialsAreBounded: where they are kept, and where a listener hears them.
func TestDenialsAreBounded(t *testing.T) {
	for _, hears := range []bool{false, true} {
		t.Run(fmt.Sprintf("heard %v", hears), func(t *testing.T) {
			var l Log
			var mu sync.Mutex
			var heard []api.Denial
			want := MaxDenials
			if hears {
				l.Hear(func(d api.Denial) {
					mu.Lock()
					defer mu.Unlock()
					heard = append(heard, d)
				})
				want *= stays
			}
			if l.MostDenials() != want {
				t.Errorf("most: %d, want %d", l.MostDenials(), want)
			}
			deny := l.DenyBounded()
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					for range want/4 + 10 {
						deny(api.Denial{Subject: strings.Repeat("x", MaxSubject+1)})
					}
				})
			}
			all.Wait()
			got := l.Refused()
			if hears {
				if len(got) != 0 {
					t.Errorf("%d were kept as well", len(got))
				}
				got = heard
			}
			if len(got) != want || len(got[0].Subject) != MaxSubject {
				t.Errorf("%d told, of %d bytes; want %d of %d", len(got), len(got[0].Subject), want, MaxSubject)
			}
		})
	}
}
