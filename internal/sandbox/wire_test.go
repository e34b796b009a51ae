package sandbox

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

var anyBytes = rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), func(b []byte) string { return string(b) })

func anyPlan(t *rapid.T) *Plan {
	p := &Plan{
		Engine: Engine(anyBytes.Draw(t, "engine")), UID: rapid.Uint32().Draw(t, "uid"), GID: rapid.Uint32().Draw(t, "gid"),
		NewNet: rapid.Bool().Draw(t, "net"), Loopback: rapid.Bool().Draw(t, "lo"),
		Seccomp: []byte(anyBytes.Draw(t, "seccomp")), NProc: rapid.Uint64().Draw(t, "nproc"), HighestPID: rapid.Uint64().Draw(t, "highest pid"),
	}
	for range rapid.IntRange(0, 5).Draw(t, "mounts") {
		p.Mounts = append(p.Mounts, Mount{
			Kind: MountKind(rapid.IntRange(1, 20).Draw(t, "kind")), Target: anyBytes.Draw(t, "target"), Source: anyBytes.Draw(t, "source"),
			Lower: anyBytes.Draw(t, "lower"), Upper: anyBytes.Draw(t, "upper"), Work: anyBytes.Draw(t, "work"), Spare: anyBytes.Draw(t, "spare"),
			ReadOnly: rapid.Bool().Draw(t, "ro"), Optional: rapid.Bool().Draw(t, "opt"), Dir: rapid.Bool().Draw(t, "dir"),
			Kept: rapid.Bool().Draw(t, "kept"),
			Dev:  rapid.Uint64().Draw(t, "dev"), Ino: rapid.Uint64().Draw(t, "ino"),
			Perm: rapid.Uint32().Draw(t, "perm"), Data: []byte(anyBytes.Draw(t, "data")),
		})
	}
	p.Pool = rapid.Bool().Draw(t, "pool")
	for range rapid.IntRange(0, 3).Draw(t, "listeners") {
		p.Listeners = append(p.Listeners, Listener{anyBytes.Draw(t, "network"), anyBytes.Draw(t, "address"), rapid.Bool().Draw(t, "listener optional")})
	}
	for range rapid.IntRange(0, 3).Draw(t, "limits") {
		p.UserLimits = append(p.UserLimits, UserLimit{anyBytes.Draw(t, "limit"), rapid.Uint64().Draw(t, "value")})
	}
	p.Landlock = Landlock{Files: rapid.Bool().Draw(t, "files"), Scopes: rapid.Bool().Draw(t, "scopes"), Limited: rapid.Bool().Draw(t, "limited")}
	for range rapid.IntRange(0, 3).Draw(t, "write") {
		p.Landlock.Write = append(p.Landlock.Write, anyBytes.Draw(t, "path"))
		p.Landlock.Execute = append(p.Landlock.Execute, anyBytes.Draw(t, "program"))
		p.NoExec = append(p.NoExec, anyBytes.Draw(t, "noexec"))
	}
	p.Private = anyBytes.Draw(t, "private")
	for range rapid.IntRange(0, 3).Draw(t, "grants") {
		p.Grants = append(p.Grants, Grant{anyBytes.Draw(t, "grant"), rapid.Bool().Draw(t, "grant write"), rapid.Bool().Draw(t, "grant device"), rapid.Bool().Draw(t, "grant data"),
			rapid.Bool().Draw(t, "grant optional"), rapid.Uint64().Draw(t, "grant dev"), rapid.Uint64().Draw(t, "grant ino")})
	}
	p.Command = Command{Dir: anyBytes.Draw(t, "dir"), Path: anyBytes.Draw(t, "path"), Session: true, Terminal: true, Label: rapid.Uint64().Draw(t, "label")}
	for range rapid.IntRange(0, 3).Draw(t, "argv") {
		p.Command.Argv = append(p.Command.Argv, anyBytes.Draw(t, "arg"))
		p.Command.Env = append(p.Command.Env, anyBytes.Draw(t, "env"))
	}
	return p
}

// TestPlanRoundTrip: what the stage decodes is what was encoded, bytes and all.
func TestPlanRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlan(t)
		got, err := DecodePlan(p.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Listeners) != len(p.Listeners) || got.Pool != p.Pool {
			t.Fatalf("got %+v\nwant %+v", got, p)
		}
		// Reasons stay outside; nil and empty slices are one on the wire.
		if !reflect.DeepEqual(got.Encode(), p.Encode()) || len(got.Mounts) != len(p.Mounts) {
			t.Fatalf("got %+v\nwant %+v", got, p)
		}
		for i, m := range got.Mounts {
			if m.Target != p.Mounts[i].Target || string(m.Data) != string(p.Mounts[i].Data) {
				t.Fatalf("mount %d: got %+v want %+v", i, m, p.Mounts[i])
			}
		}
	})
}

// TestPlanCutShort: a plan that lost its end, or gained one, is no plan.
func TestPlanCutShort(t *testing.T) {
	whole := (&Plan{Mounts: []Mount{{Kind: MountBind, Target: "/a", Source: "/b"}}, Command: Command{Argv: []string{"x"}}}).Encode()
	for n := range whole {
		if p, err := DecodePlan(whole[:n]); err == nil {
			t.Errorf("%d of %d bytes decode to %+v", n, len(whole), p)
		}
	}
	if _, err := DecodePlan(append(whole, 0)); err == nil {
		t.Error("a byte too many is accepted")
	}
}

func FuzzDecodePlan(f *testing.F) {
	f.Add((&Plan{UID: 1000, Mounts: []Mount{{Kind: MountTmpfs, Target: "/tmp", Perm: 0o1777}}}).Encode())
	f.Add([]byte{})
	f.Add([]byte{1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := DecodePlan(b)
		if err != nil {
			if p != nil {
				t.Error("an error came with a plan")
			}
			return
		}
		if again, err := DecodePlan(p.Encode()); err != nil || !reflect.DeepEqual(p, again) {
			t.Errorf("an accepted plan does not come back: %v", err)
		}
	})
}

func FuzzDecodeMessage(f *testing.F) {
	f.Add((&Message{Kind: MsgExited, ID: 1, Code: 7}).Encode())
	f.Add((&Message{Kind: MsgNoStart, ID: 1, Code: -2, Text: "no", Path: "x"}).Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := DecodeMessage(b)
		if err != nil {
			return
		}
		if again, err := DecodeMessage(m.Encode()); err == nil && len(m.Text) < MaxMessage/3 && len(m.Path) < MaxMessage/3 && again != m {
			t.Errorf("%+v came back as %+v", m, again)
		}
		if len(m.Encode()) > MaxMessage {
			t.Errorf("a message of %d bytes", len(m.Encode()))
		}
	})
}
