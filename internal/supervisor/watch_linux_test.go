package supervisor

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"carrel/internal/api"
)

// TestWatch: who asks decides whether a viewer may ever act, and a watch ends with its
// caller.
func TestWatch(t *testing.T) {
	asked := make(chan bool, 1)
	ended := make(chan struct{}, 1)
	c := Config{Name: "desk", Desk: &table{}, Agent: robot, Watch: func(ctx context.Context, req api.Watch, acts bool, tell func(api.Watching) error) error {
		if req.Port == 7 {
			return errors.New("port 7 cannot be had")
		}
		asked <- acts
		err := tell(api.Watching{Address: "127.0.0.1:5910", Acts: acts})
		<-ctx.Done()
		ended <- struct{}{}
		return err
	}}
	person := func(func(Process) string) *api.Denial { return nil }
	nobody := func(func(Process) string) *api.Denial { return refuseHuman("it is a test") }
	for _, c := range []struct {
		name  string
		human func(func(Process) string) *api.Denial
		desk  bool
		view  bool
		acts  bool
	}{{"a person", person, true, false, true}, {"a program", nobody, true, false, false}, {"a person who only looks", person, true, true, false}, {"of one command", person, false, false, false}} {
		s := &Server{cfg: Config{Watch: func(_ context.Context, _ api.Watch, acts bool, _ func(api.Watching) error) error {
			asked <- acts
			return nil
		}}}
		if c.desk {
			s.cfg.Desk = &table{}
		}
		near, far := net.Pipe()
		r := (answerer{s}).watch(t.Context(), near, caller{human: c.human}, api.Request{Op: api.OpWatch, Follow: true, Watch: &api.Watch{ViewOnly: c.view}})
		if acts := <-asked; !r.OK || acts != c.acts {
			t.Errorf("%s: may act: %v, %+v", c.name, acts, r)
		}
		near.Close()
		far.Close()
	}

	_, e, _ := serve(t, c)
	for _, c := range []struct {
		want string
		req  api.Request
	}{
		{"as long as its caller", api.Request{Op: api.OpWatch, Watch: &api.Watch{}}},
		{"as long as its caller", api.Request{Op: api.OpWatch, Follow: true}},
		{"port 7 cannot be had", api.Request{Op: api.OpWatch, Follow: true, Watch: &api.Watch{Port: 7}}},
	} {
		if _, err := e.Call(t.Context(), c.req); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.req, err)
		}
	}
	conv, err := e.Open(t.Context(), api.Request{Op: api.OpWatch, Follow: true, Watch: &api.Watch{}})
	if err != nil {
		t.Fatal(err)
	}
	if r, _, err := conv.Next(); err != nil || r.Watching == nil || r.Watching.Acts || <-asked {
		t.Errorf("%+v %v", r, err)
	}
	conv.Close()
	<-ended

	_, e, _ = serve(t, Config{Name: "dark", Desk: &table{}})
	var why *api.Denial
	if _, err := e.Call(t.Context(), api.Request{Op: api.OpWatch, Follow: true, Watch: &api.Watch{}}); !errors.As(err, &why) || why.Code != api.CodeNoDesktop {
		t.Errorf("without a display: %v", err)
	}
}
