package sound

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"
)

// PlayTime bounds how long one sound is played.
const PlayTime = 5 * time.Second

// maxFile bounds a sound's file, in bytes: those of themes are far smaller.
const maxFile = 8 << 20

// Why nothing is played.
var (
	ErrUnknown  = errors.New("there is no sound of that name")
	ErrNoFile   = errors.New("this machine has no sound theme in /usr/share/sounds")
	ErrNoPlayer = errors.New("no sound server, or no program that plays to it, was found on this machine")
)

// Where themes have their sounds, best first, and how their files end.
var (
	dirs  = []string{"/usr/share/sounds/freedesktop/stereo", "/usr/share/sounds/Yaru/stereo", "/usr/share/sounds/ocean/stereo", "/usr/share/sounds/Pop/stereo/notification"}
	kinds = []string{".oga", ".ogg", ".wav"}
)

// Host is what is known of the machine.
type Host struct {
	Files  fs.FS // its files, from / on
	Getenv func(string) string
	Cookie func() string // the person's file for the sound server, "" for none; nil: none
}

// This is the machine that the program runs on, as the person's environment has it.
func This(getenv func(string) string, cookie func() string) Host {
	return Host{Files: os.DirFS("/"), Getenv: getenv, Cookie: cookie}
}

// Way is one program that can play one file.
type Way struct {
	Argv []string // the program by its absolute path, and its arguments
	Env  []string
}

// Ways says how a sound can be played here, best first. The error is one of those above.
func (h Host) Ways(name string) ([]Way, error) {
	names := candidates(name)
	if names == nil {
		return nil, ErrUnknown
	}
	file := h.file(names)
	if file == "" {
		return nil, ErrNoFile
	}
	var out []Way
	for _, p := range players {
		env, ok := p.reaches(h)
		if ok && (len(p.kinds) == 0 || slices.Contains(p.kinds, path.Ext(file))) && h.is(p.program, func(m fs.FileMode) bool { return m.IsRegular() && m&0o111 != 0 }) {
			out = append(out, Way{Argv: append(append([]string{p.program}, p.args...), file), Env: append(h.base(), env...)})
		}
	}
	if len(out) == 0 {
		return nil, ErrNoPlayer
	}
	return out, nil
}

// file is the first that a theme has of some names, "" for none.
func (h Host) file(names []string) string {
	for _, name := range names {
		for _, dir := range dirs {
			for _, kind := range kinds {
				at := path.Join(dir, name+kind)
				if st, err := fs.Stat(h.Files, at[1:]); err == nil && st.Mode().IsRegular() && st.Size() <= maxFile {
					return at
				}
			}
		}
	}
	return ""
}

// is says whether something of a kind is at an absolute path.
func (h Host) is(at string, kind func(fs.FileMode) bool) bool {
	st, err := fs.Stat(h.Files, strings.TrimPrefix(path.Clean(at), "/"))
	return err == nil && kind(st.Mode())
}

func isSocket(m fs.FileMode) bool { return m&fs.ModeSocket != 0 }

// nowhere is a home that nobody has: those of players' libraries read there which other
// libraries they load, and a home's files may be links into a project. The name is the
// one that systems give to users without a home; nothing is made at it.
const nowhere = "/nonexistent"

// base is what every player gets. What its libraries read is the system's alone.
func (h Host) base() []string {
	env := []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=" + nowhere}
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		env = append(env, name+"="+nowhere)
	}
	env = append(env, "XDG_CONFIG_DIRS=/etc/xdg", "XDG_DATA_DIRS=/usr/share")
	if v := h.Getenv("XDG_RUNTIME_DIR"); path.IsAbs(v) {
		env = append(env, "XDG_RUNTIME_DIR="+v)
	}
	if h.is(alsaConfig, fs.FileMode.IsRegular) {
		env = append(env, "ALSA_CONFIG_PATH="+alsaConfig)
	}
	return env
}

// alsaConfig is what ALSA's library reads first; it names all else that it reads.
const alsaConfig = "/usr/share/alsa/alsa.conf"

// runtime gives the path of something in the person's runtime directory, "" without one.
func (h Host) runtime(name string) string {
	dir := h.Getenv("XDG_RUNTIME_DIR")
	if !path.IsAbs(dir) {
		return ""
	}
	return path.Join(dir, name)
}

// player is a program that plays.
type player struct {
	program string
	args    []string // before the file
	kinds   []string // of files that it can play; none: all
	reaches func(Host) (env []string, ok bool)
}

var players = []player{
	{program: "/usr/bin/pw-play", reaches: pipewire},
	{program: "/usr/bin/paplay", reaches: pulse},
	{program: "/usr/bin/canberra-gtk-play", args: []string{"-f"}, reaches: canberra},
	{program: "/usr/bin/aplay", args: []string{"-q"}, kinds: []string{".wav"}, reaches: alsa},
}

func pipewire(h Host) ([]string, bool) {
	at := h.runtime("pipewire-0")
	return nil, at != "" && h.is(at, isSocket)
}

// pulse names the server's socket: where none is named, its library starts a server.
func pulse(h Host) ([]string, bool) {
	at := h.runtime("pulse/native")
	if named, ok := strings.CutPrefix(h.Getenv("PULSE_SERVER"), "unix:"); ok {
		at = named
	}
	env := []string{"PULSE_SERVER=unix:" + at}
	if h.Cookie != nil {
		if cookie := h.Cookie(); path.IsAbs(cookie) {
			env = append(env, "PULSE_COOKIE="+cookie)
		}
	}
	return env, path.IsAbs(at) && h.is(at, isSocket)
}

// canberra wants a display as well, as it is a program of GTK.
func canberra(h Host) ([]string, bool) {
	env, ok := pulse(h)
	shown := false
	for _, name := range []string{"DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY"} {
		if v := h.Getenv(name); v != "" {
			env, shown = append(env, name+"="+v), shown || name != "XAUTHORITY"
		}
	}
	return env, ok && shown
}

func alsa(h Host) ([]string, bool) { return nil, h.is("/dev/snd", fs.FileMode.IsDir) }

// Play plays a sound in one of the ways, the first that works, and returns when it was
// heard to its end or the time was over.
func Play(ctx context.Context, ways []Way) error {
	ctx, cancel := context.WithTimeout(ctx, PlayTime)
	defer cancel()
	runtime.LockOSThread() // their death signal comes when the thread ends that started them
	defer runtime.UnlockOSThread()
	err := ErrNoPlayer
	for _, w := range ways {
		cmd := exec.CommandContext(ctx, w.Argv[0], w.Argv[1:]...)
		cmd.Env, cmd.Dir, cmd.WaitDelay, cmd.SysProcAttr = w.Env, "/", time.Second, apart()
		if err = cmd.Run(); err == nil {
			return nil
		}
		err = fmt.Errorf("%s: %w", w.Argv[0], err)
		if ctx.Err() != nil {
			break
		}
	}
	return err
}
