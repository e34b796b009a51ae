package histories

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"carrel/internal/history"
)

// TestShrinkOldest: which histories are shrunk for a limit of 80, of which 70 are left then.
func TestShrinkOldest(t *testing.T) {
	type project struct {
		bytes, used int64
		newest      int64 // bytes of its newest step
		busy        bool
	}
	for _, c := range []struct {
		name string
		each int64
		list []project
		want string // the order of what is shrunk, and to what
		left []int64
	}{
		{"within", 40, []project{{30, 1, 5, false}, {30, 2, 5, false}, {20, 3, 5, false}}, "", []int64{30, 30, 20}},
		{"the oldest project", 40, []project{{30, 1, 5, false}, {30, 2, 5, false}, {30, 3, 5, false}}, "0:10", []int64{10, 30, 30}},
		{"by use, not by place", 40, []project{{30, 3, 5, false}, {30, 2, 5, false}, {30, 1, 5, false}}, "2:10", []int64{30, 30, 10}},
		{"never a newest step", 40, []project{{30, 1, 25, false}, {30, 2, 5, false}, {30, 3, 5, false}}, "0:10 1:15", []int64{25, 15, 30}},
		{"not one that is in use", 40, []project{{30, 1, 5, true}, {30, 2, 5, false}, {30, 3, 5, false}}, "0:10 1:10", []int64{30, 10, 30}},
		{"as many as it takes", 0, []project{{90, 1, 5, false}, {90, 2, 5, false}, {90, 3, 5, false}}, "0:0 1:0 2:60", []int64{5, 5, 60}},
		{"nothing may go", 40, []project{{30, 1, 30, false}, {30, 2, 5, true}, {30, 3, 30, false}}, "0:10 1:10 2:10", []int64{30, 30, 30}},
		{"a large newest step", 40, []project{{15, 1, 5, false}, {15, 2, 5, false}, {500, 3, 500, false}}, "", []int64{15, 15, 500}},
		{"one without a limit of its own", 0, []project{{90, 1, 5, false}, {500, 3, 500, false}}, "0:0 1:65", []int64{5, 500}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var list []holding
			for i, p := range c.list {
				list = append(list, holding{id: fmt.Sprint(i), size: history.Size{Bytes: p.bytes}, used: time.Unix(p.used, 0)})
			}
			var asked []string
			shrinkOldest(list, c.each, 80, func(h holding, to int64) int64 {
				asked = append(asked, fmt.Sprintf("%s:%d", h.id, to))
				if p := c.list[h.id[0]-'0']; !p.busy {
					return min(p.bytes, max(p.newest, to))
				}
				return h.size.Bytes
			})
			left := make([]int64, len(list))
			for _, h := range list {
				left[h.id[0]-'0'] = h.size.Bytes
			}
			if got := fmt.Sprint(asked); got != "["+c.want+"]" || !slices.Equal(left, c.left) {
				t.Errorf("shrunk %s, want [%s]; left %d, want %d", got, c.want, left, c.left)
			}
		})
	}
}
