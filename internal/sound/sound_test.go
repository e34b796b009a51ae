package sound

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

const stereo = "usr/share/sounds/freedesktop/stereo/"

// machine is a host with some files; a name that ends in = is a socket, in * a program.
func machine(env string, files ...string) Host {
	m := fstest.MapFS{}
	for _, f := range files {
		switch name, last := f[:len(f)-1], f[len(f)-1]; last {
		case '=':
			m[name] = &fstest.MapFile{Mode: fs.ModeSocket | 0o600}
		case '*':
			m[name] = &fstest.MapFile{Mode: 0o755}
		default:
			m[f] = &fstest.MapFile{Mode: 0o644}
		}
	}
	vars := map[string]string{}
	for _, v := range strings.Fields(env) {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	return Host{Files: m, Getenv: func(name string) string { return vars[name] }}
}

func TestWays(t *testing.T) {
	const env = "HOME=/home/u XDG_RUNTIME_DIR=/run/user/1"
	theme := []string{stereo + "bell.oga", stereo + "complete.oga", stereo + "dialog-warning.oga"}
	large := machine(env, "run/user/1/pulse/native=", "usr/bin/paplay*")
	large.Files.(fstest.MapFS)[stereo+"bell.oga"] = &fstest.MapFile{Mode: 0o644, Data: make([]byte, maxFile+1)}
	pulse := append([]string{"run/user/1/pulse/native=", "usr/bin/paplay*"}, theme...)
	for _, tt := range []struct {
		about string
		host  Host
		name  string
		want  []string // programs and the file's name, one way each
		err   error
	}{
		{"macOS", machine(env, pulse...), "glass", []string{"/usr/bin/paplay complete.oga"}, nil},
		{"a theme without that one", machine(env, pulse...), "basso", []string{"/usr/bin/paplay dialog-warning.oga"}, nil},
		{"nothing near it", machine(env, pulse...), "morse", []string{"/usr/bin/paplay bell.oga"}, nil},
		{"less after the dash", machine(env, pulse...), "complete-media-burn", []string{"/usr/bin/paplay complete.oga"}, nil},
		{"both servers", machine(env, append(pulse, "run/user/1/pipewire-0=", "usr/bin/pw-play*")...), "bell", []string{"/usr/bin/pw-play bell.oga", "/usr/bin/paplay bell.oga"}, nil},
		{"a display", machine(env+" DISPLAY=:0", append(pulse, "usr/bin/canberra-gtk-play*")...), "bell", []string{"/usr/bin/paplay bell.oga", "/usr/bin/canberra-gtk-play bell.oga"}, nil},
		{"a player without its server", machine(env, append(theme, "usr/bin/paplay*", "usr/bin/pw-play*")...), "bell", nil, ErrNoPlayer},
		{"a server without a player", machine(env, append(theme, "run/user/1/pulse/native=")...), "bell", nil, ErrNoPlayer},
		{"a player that is no program", machine(env, append(theme, "run/user/1/pulse/native=", "usr/bin/paplay")...), "bell", nil, ErrNoPlayer},
		{"a socket that is a file", machine(env, append(theme, "run/user/1/pulse/native", "usr/bin/paplay*")...), "bell", nil, ErrNoPlayer},
		{"no runtime directory", machine("HOME=/h", pulse...), "bell", nil, ErrNoPlayer},
		{"the server by its variable", machine("PULSE_SERVER=unix:/mnt/s", append(pulse, "mnt/s=")...), "bell", []string{"/usr/bin/paplay bell.oga"}, nil},
		{"a server elsewhere", machine("PULSE_SERVER=tcp:evil", pulse...), "bell", nil, ErrNoPlayer},
		{"ALSA plays no Ogg", machine(env, append(theme, "dev/snd/x", "usr/bin/aplay*")...), "bell", nil, ErrNoPlayer},
		{"ALSA", machine(env, "dev/snd/x", "usr/bin/aplay*", stereo+"bell.wav"), "bell", []string{"/usr/bin/aplay bell.wav"}, nil},
		{"no theme", machine(env, "run/user/1/pulse/native=", "usr/bin/paplay*"), "bell", nil, ErrNoFile},
		{"a file too large", large, "bell", nil, ErrNoFile},
		{"a path", machine(env, pulse...), "../../etc/passwd", nil, ErrUnknown},
		{"nothing", machine(env, pulse...), "", nil, ErrUnknown},
		{"Capitals", machine(env, pulse...), "Glass", nil, ErrUnknown},
	} {
		ways, err := tt.host.Ways(tt.name)
		var got []string
		for _, w := range ways {
			last := w.Argv[len(w.Argv)-1]
			got = append(got, w.Argv[0]+" "+filepath.Base(last))
			if !strings.HasPrefix(last, "/"+stereo) {
				t.Errorf("%s: the file %q", tt.about, last)
			}
			if i := slices.IndexFunc(w.Env, func(v string) bool { return strings.HasPrefix(v, "PULSE_SERVER=") }); strings.HasSuffix(w.Argv[0], "paplay") && i < 0 {
				t.Errorf("%s: without the server's name %s starts one: %q", tt.about, w.Argv[0], w.Env)
			}
		}
		if !slices.Equal(got, tt.want) || !errors.Is(err, tt.err) {
			t.Errorf("%s: %q, %v; want %q, %v", tt.about, got, err, tt.want, tt.err)
		}
	}
}

// TestNothingOfTheHome: no player gets to know a place where those inside may have put
// configuration, which can name libraries to load.
func TestNothingOfTheHome(t *testing.T) {
	h := machine("HOME=/home/u XDG_CONFIG_HOME=/home/u/c XDG_DATA_HOME=/home/u/d XDG_DATA_DIRS=/home/u/e GTK_MODULES=evil GTK_PATH=/home/u ALSA_CONFIG_PATH=/home/u/a DISPLAY=:0 XDG_RUNTIME_DIR=/run",
		"run/pulse/native=", "run/pipewire-0=", "dev/snd/x", "usr/bin/pw-play*", "usr/bin/paplay*", "usr/bin/canberra-gtk-play*", "usr/bin/aplay*", "usr/share/alsa/alsa.conf", stereo+"bell.wav")
	h.Cookie = func() string { return "/cookie" }
	ways, err := h.Ways("bell")
	if err != nil || len(ways) != 4 {
		t.Fatalf("%v, %v", ways, err)
	}
	for _, w := range ways {
		env := strings.Join(w.Env, " ")
		if strings.Contains(env, "/home/u") || strings.Contains(env, "evil") || !strings.Contains(env, "HOME=/nonexistent XDG_CONFIG_HOME=/nonexistent") || !strings.Contains(env, "ALSA_CONFIG_PATH=/usr/share/alsa/alsa.conf") {
			t.Errorf("%s gets %s", w.Argv[0], env)
		}
		if pulse := strings.Contains(env, "PULSE_SERVER="); pulse != strings.Contains(env, "PULSE_COOKIE=/cookie") {
			t.Errorf("%s: the cookie: %s", w.Argv[0], env)
		}
	}
}

// TestEveryName: each can be played where there is a whole theme, and where there is
// nothing but a bell.
func TestEveryName(t *testing.T) {
	h := machine("XDG_RUNTIME_DIR=/run", "run/pulse/native=", "usr/bin/paplay*", stereo+"bell.oga")
	for _, name := range Names() {
		if _, err := h.Ways(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, c := range candidates(name) {
			if strings.ContainsAny(c, "/.") {
				t.Errorf("%s: the candidate %q is no name", name, c)
			}
		}
	}
	if n := len(mac); n != 14 {
		t.Errorf("macOS has fourteen sounds, here are %d", n)
	}
}

// TestPlay: the first way that works is taken, and one that does not end is ended.
func TestPlay(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("no /bin/sh here")
	}
	dir := t.TempDir()
	way := func(script string) Way {
		return Way{Argv: []string{"/bin/sh", "-c", script, "player"}, Env: []string{"OUT=" + dir + "/out", "PATH=/usr/bin:/bin"}}
	}
	if err := Play(context.Background(), []Way{way("exit 1"), way("env > $OUT"), way("echo third > $OUT")}); err != nil {
		t.Fatal(err)
	}
	if out, _ := os.ReadFile(dir + "/out"); strings.Contains(string(out), "third") || strings.Contains(string(out), "HOME=") {
		t.Errorf("%s", out)
	}
	if err := Play(context.Background(), []Way{way("exit 3")}); err == nil || !strings.Contains(err.Error(), "/bin/sh") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if err := Play(ctx, []Way{way("exec sleep 1000"), way("echo second > $OUT.2")}); err == nil {
		t.Error("a player that does not end was believed")
	}
	if _, err := os.Stat(dir + "/out.2"); err == nil {
		t.Error("another one was started after the time was over")
	}
}
