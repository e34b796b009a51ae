//go:build linux

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// stripped are variables that lead to the person's desktop.
var stripped = []string{
	"DISPLAY", "XAUTHORITY", "WAYLAND_SOCKET", "XDG_SESSION_TYPE", "XDG_SESSION_DESKTOP", "DESKTOP_SESSION", "GNOME_DESKTOP_SESSION_ID",
	"HYPRLAND_INSTANCE_SIGNATURE", "HYPRCURSOR_THEME", "HYPRCURSOR_SIZE", "AQ_DRM_DEVICES", "SWAYSOCK", "GDK_BACKEND", "QT_QPA_PLATFORM", "QT_QPA_PLATFORMTHEME",
	"CLUTTER_BACKEND", "SDL_VIDEODRIVER", "NIXOS_OZONE_WL", "MOZ_ENABLE_WAYLAND", "MOZ_X11_EGL", "DESKTOP_STARTUP_ID",
	"SESSION_MANAGER", "ICEAUTHORITY", "AT_SPI_BUS_ADDRESS", "I3SOCK", "NIRI_SOCKET", "WAYFIRE_SOCKET", "LABWC_PID", "KDE_FULL_SESSION", "KDE_SESSION_VERSION", "XDG_ACTIVATION_TOKEN", "XDG_SESSION_ID",
	"XDG_SEAT", "XDG_VTNR", "WINDOWID", "EGL_PLATFORM", "SDL_VIDEO_DRIVER", "ELECTRON_OZONE_PLATFORM_HINT", "YDOTOOL_SOCKET", "PULSE_SERVER", "PIPEWIRE_REMOTE", "SSH_ASKPASS", "SUDO_ASKPASS", "GIT_ASKPASS",
	"VSCODE_IPC_HOOK_CLI", "KITTY_LISTEN_ON", "WEZTERM_UNIX_SOCKET", "NVIM", "TMUX", "DBUS_SYSTEM_BUS_ADDRESS",
}

// replaced are variables that have to have a value of ours.
var replaced = map[string]string{
	"MOZ_NO_REMOTE": "1", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/dev/null", "XDG_CURRENT_DESKTOP": "X-Generic", "DE": "generic", "GTK_USE_PORTAL": "0", "GIO_USE_VFS": "local", "NO_AT_BRIDGE": "1",
}

// environment runs env inside and gives what it printed.
func (w *world) environment(flags ...string) map[string]string {
	w.t.Helper()
	r := w.run(append(flags, "--", "env", "-0")...)
	if r.code != 0 {
		w.t.Fatalf("env: %s", r)
	}
	vars := make(map[string]string)
	for e := range strings.SplitSeq(strings.TrimSuffix(r.out, "\x00"), "\x00") {
		name, value, _ := strings.Cut(e, "=")
		if _, twice := vars[name]; twice {
			w.t.Errorf("%s is there twice", name)
		}
		vars[name] = value
	}
	return vars
}

func (w *world) setDesktop() {
	for _, name := range stripped {
		w.setenv(name, "outside")
	}
	for name := range replaced {
		w.setenv(name, "outside")
	}
	w.setenv("WAYLAND_DISPLAY", "wayland-0")
	w.setenv("BROWSER", "outside")
	w.setenv("EDITOR", "vim")
	w.setenv("LC_TIME", "de_DE.UTF-8\xff kept as it is")
}

func TestDesktopVariables(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.setDesktop()
		for _, flags := range [][]string{nil, {"--display", "none"}, {"--env", "DISPLAY", "--env", "WAYLAND_DISPLAY=wayland-0", "--env", "DBUS_SESSION_BUS_ADDRESS"}} {
			vars := w.environment(flags...)
			for _, name := range stripped {
				if v, ok := vars[name]; ok {
					t.Errorf("%q: %s=%s", flags, name, v)
				}
			}
			for name, want := range replaced {
				if vars[name] != want {
					t.Errorf("%q: %s=%q, want %q", flags, name, vars[name], want)
				}
			}
			if v := vars["WAYLAND_DISPLAY"]; !strings.HasPrefix(v, "/") {
				t.Errorf("%q: WAYLAND_DISPLAY=%q: libwayland would look in the runtime directory", flags, v)
			}
			if v := vars["XDG_RUNTIME_DIR"]; v == w.runtime || v == "" {
				t.Errorf("%q: XDG_RUNTIME_DIR=%q", flags, v)
			}
			if v := vars["BROWSER"]; v == "outside" || v == "true" || v == "" {
				t.Errorf("%q: BROWSER=%q", flags, v)
			}
			if vars["EDITOR"] != "vim" || vars["LC_TIME"] != "de_DE.UTF-8\xff kept as it is" || vars["TERM"] != "xterm" || vars["CARREL"] != "1" {
				t.Errorf("%q: what has nothing to do with it changed: %q", flags, vars)
			}
		}
	})
}

// TestHostDisplay grants exactly the display's socket, and says so once.
func TestHostDisplay(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.setDesktop()
		x := w.x11Socket()
		number := w.display()
		wayland, bus := w.runtime+"/wayland-0", w.runtime+"/bus"
		for _, s := range []string{wayland, bus} {
			w.listen("unix", s)
			w.own(s)
		}
		cookie := w.write(w.home+"/.Xauthority", "COOKIE")
		w.setenv("DISPLAY", ":"+number)
		w.setenv("XAUTHORITY", cookie)
		w.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+bus)
		for _, flags := range [][]string{{"--display", "host"}, {"--persona", "human"}} {
			r := w.run(append(append([]string{}, flags...), "--read", built.attack, "--", "sh", "-c", built.attack+" connect "+x+"; "+built.attack+" connect $XDG_RUNTIME_DIR/$WAYLAND_DISPLAY; "+built.attack+" connect $XDG_RUNTIME_DIR/bus; "+built.attack+" connect "+bus+"; cat $XAUTHORITY; echo; echo $DISPLAY")...)
			lines := strings.Split(r.out, "\n")
			if len(lines) < 6 || lines[0] != "ok "+greeting || lines[1] != "ok "+greeting || lines[4] != "COOKIE" || lines[5] != ":"+number {
				t.Errorf("%q: %s", flags, r)
			} else if strings.HasPrefix(lines[2], "ok") || strings.HasPrefix(lines[3], "ok") {
				t.Errorf("%q: the session bus came along: %s", flags, r)
			}
			if n := strings.Count(r.err, "display"); n == 0 || !strings.Contains(r.err, "carrel:") {
				t.Errorf("%q: nothing is said: %q", flags, r.err)
			}
		}
		for _, flags := range [][]string{nil, {"--display", "none", "--persona", "human"}, {"--persona", "agent"}} {
			w.fails(flags, []string{"connect", x, "--", "connect", wayland, "--", "read", cookie}, "ENOENT", "EACCES")
		}
		// shell is for people: the same grant.
		cmd := w.command(w.bin, "shell", "--", "-c", "echo $DISPLAY")
		if r := w.finish(cmd); r.out != ":"+number+"\n" {
			t.Errorf("shell: %s", r)
		}
	})
}

// TestPersonaIsDecidedOutside: nothing that the project says changes it.
func TestPersonaIsDecidedOutside(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.setenv("DISPLAY", ":77")
	for _, v := range []struct{ name, value, want string }{
		{"CARREL_PERSONA", "human", ":77"}, {"CARREL_PERSONA", "agent", ""}, {"CARREL_ALLOW_DESKTOP_GUI", "1", ":77"}, {"CARREL_ALLOW_DESKTOP_GUI", "true", ":77"}, {"CARREL_ALLOW_DESKTOP_GUI", "yes", ":77"}, {"CARREL_ALLOW_DESKTOP_GUI", "0", ""}, {"CARREL_ALLOW_DESKTOP_GUI", "false", ""}, {"CARREL_ALLOW_DESKTOP_GUI", "no", ""},
	} {
		w.setenv(v.name, v.value)
		if got := w.environment()["DISPLAY"]; got != v.want {
			t.Errorf("%s=%s: DISPLAY=%q", v.name, v.value, got)
		}
		w.unsetenv(v.name)
	}
	for _, bad := range []string{"maybe", "TRUE", "", "2", " 1", "on"} {
		w.setenv("CARREL_ALLOW_DESKTOP_GUI", bad)
		if r := w.run("--", "true"); r.code != 125 || !strings.Contains(r.err, "CARREL_ALLOW_DESKTOP_GUI") {
			t.Errorf("%q: %s", bad, r)
		}
	}
	w.setenv("CARREL_ALLOW_DESKTOP_GUI", "0")
	if got := w.environment("--persona", "human")["DISPLAY"]; got != "" {
		t.Errorf("a person who was denied the desktop: DISPLAY=%q", got)
	}
}

// TestLinks: a program that wants a link opened is told the truth, and the
// person outside is shown the link.
func TestLinks(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		link := "https://example.com/login?state=" + w.number()
		for _, how := range []string{"xdg-open", "/usr/bin/env xdg-open", "$BROWSER", "open", "sensible-browser", "x-www-browser", "python3 -m webbrowser"} {
			tm := w.inTerminal(w.command(w.bin, "run", "--", "bash", "-c", how+" '"+link+"'; echo status=$?; sleep "+strconv.Itoa(strings.Count(how, "python3"))))
			if strings.HasPrefix(how, "python3") { // it starts the opener in the background and does not wait
				if !strings.Contains(tm.all(), link) {
					t.Errorf("%s: %q", how, tm.all())
				}
				continue
			}
			if !strings.Contains(tm.all(), "status=4\r\n") || !strings.Contains(tm.all(), "link: "+link) {
				t.Errorf("%s: %q", how, tm.all())
			}
		}
		if r := w.carrel("links"); strings.Count(r.out, link) < 6 {
			t.Errorf("carrel links: %s", r)
		}
		for _, bad := range []string{"file:///etc/passwd", "javascript:alert(1)", "/etc/passwd", "x", "https://exa mple.com", "https://example.com/\x1b[31m", "ssh://host", "http://" + strings.Repeat("x", 20000)} {
			r := w.run("--", "xdg-open", bad)
			if r.code == 0 || strings.Contains(r.err, "\x1b[31m") {
				t.Errorf("%.40q: %s", bad, r)
			}
		}
		if r := w.carrel("denials"); r.code != 0 || !strings.Contains(r.out, "file:///etc/passwd") || strings.Contains(r.out, "\x1b") {
			t.Errorf("carrel denials: %s", r)
		}
		if r := w.run("--", "xdg-open"); r.code != 1 {
			t.Errorf("no link: %s", r)
		}
	})
}

// TestLoginCallback: a login page outside comes back to a listener inside,
// when the person has links opened at all.
func TestLoginCallback(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("python3")
		port := freePort(t)
		w.write(w.project+"/login.py", program("display/login.py"))
		address := "http://127.0.0.1:" + strconv.Itoa(port) + "/cb?code=42"
		if _, err := http.Get(address); err == nil {
			t.Fatal("canary: somebody listens already")
		}
		closed := w.command(w.bin, "run", "--network", "local", "--", "python3", "login.py", strconv.Itoa(port))
		said, err := closed.StdoutPipe()
		w.must(err)
		w.must(closed.Start())
		if line, _ := bufio.NewReader(said).ReadString('\n'); line != "opened 4\n" {
			t.Errorf("by default: %q", line)
		}
		if _, err := http.Get(address); err == nil {
			t.Error("by default: a way back is open")
		}
		w.must(closed.Process.Signal(os.Interrupt))
		_ = closed.Wait()
		w.write(w.home+"/.config/carrel/config.yaml", "open_urls: browser\n")
		cmd := w.command(w.bin, "run", "--network", "local", "--", "python3", "login.py", strconv.Itoa(port))
		out, err := cmd.StdoutPipe()
		w.must(err)
		w.must(cmd.Start())
		lines := bufio.NewReader(out)
		if line, _ := lines.ReadString('\n'); line != "opened 4\n" && line != "opened 0\n" { // is there a browser outside?
			t.Errorf("%q", line)
		}
		client := http.Client{Timeout: 10 * time.Second}
		resp, err := client.Get(address)
		if err != nil {
			t.Fatalf("the way back: %v", err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(body) != "logged in" {
			t.Errorf("answer: %q", body)
		}
		if line, _ := lines.ReadString('\n'); line != "callback /cb?code=42\n" {
			t.Errorf("inside: %q", line)
		}
		_ = cmd.Wait()
		if _, err := net.DialTimeout("tcp4", "127.0.0.1:"+strconv.Itoa(port), time.Second); err == nil {
			t.Error("the way back stays open after the run")
		}
	})
}

// TestNoCallbackUnasked: without the person's word nothing listens outside.
func TestNoCallbackUnasked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	port := freePort(t)
	cmd := w.startInside(fmt.Sprintf("xdg-open 'http://x/?redirect_uri=http://localhost:%d/cb' 2>/dev/null; echo ready; sleep 30", port))
	if c, err := net.Dial("tcp4", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
		c.Close()
		t.Error("a way back is open")
	}
	w.must(cmd.Process.Signal(os.Interrupt))
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// TestCallbackPortsAreBounded: a program inside must not open the host's
// loopback at will.
func TestCallbackPortsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.write(w.home+"/.config/carrel/config.yaml", "open_urls: browser\n")
	taken := w.listen("tcp4", "127.0.0.1:0").Addr().(*net.TCPAddr).Port
	r := w.run("--network", "local", "--", "bash", "-c", fmt.Sprintf(`for p in %d; do xdg-open "http://x/?redirect_uri=http://localhost:$p/cb"; echo $p $?; done`, taken))
	if strings.Contains("\n"+r.out, "\n"+strconv.Itoa(taken)+" 0\n") {
		t.Errorf("a port that somebody has outside: %s", r)
	}
	// System ports and a second way back are not opened.
	first, second := freePort(t), freePort(t)
	cmd := w.command(w.bin, "run", "--network", "local", "--", "bash", "-c", fmt.Sprintf(`for p in 81 %d %d; do xdg-open "http://x/?redirect_uri=http://localhost:$p/cb" 2>/dev/null; done; echo ready; sleep 30`, first, second))
	out, err := cmd.StdoutPipe()
	w.must(err)
	w.must(cmd.Start())
	waitFor(t, out, "ready\n")
	for port, want := range map[int]bool{81: false, first: true, second: false} {
		c, err := net.Dial("tcp4", "127.0.0.1:"+strconv.Itoa(port))
		if (err == nil) != want {
			t.Errorf("port %d: open %v, want %v", port, err == nil, want)
		}
		if err == nil {
			c.Close()
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// TestJSONResult: the machine-readable end of a run.
func TestJSONResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	r := w.run("--json", "--", "sh", "-c", "xdg-open https://example.com/ 2>/dev/null; xdg-open file:///x 2>/dev/null; echo x > new; exit 3")
	var got struct {
		Exit    int `json:"exit"`
		Changed int `json:"changed_files"`
		Links   []struct{ URL string }
		Denials []struct{ Code, Message, Operation, Subject, Rule, Source, Hint string }
	}
	if err := json.Unmarshal([]byte(r.err), &got); err != nil {
		t.Fatalf("%v: %s", err, r)
	}
	if r.code != 3 || got.Exit != 3 || got.Changed != 1 || len(got.Links) != 1 || got.Links[0].URL != "https://example.com/" || len(got.Denials) != 1 || got.Denials[0].Code != "link" {
		t.Errorf("%+v\n%s", got, r)
	}
	r = w.run("--json", "--", "no-such-thing")
	if r.code != 127 || !strings.Contains(r.err, `"exit":127`) {
		t.Errorf("%s", r)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// TestX11ClientFindsNoServer: a client that looks in the usual places without
// any variable finds nothing either.
func TestX11ClientFindsNoServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.x11Socket()
	for _, network := range []string{"closed", "local", "open"} {
		w.fails([]string{"--network", network}, []string{"list", "/tmp/.X11-unix", "--", "list", "/run/dbus", "--", "list", "/run/systemd"}, "ENOENT")
	}
	if _, err := os.Stat("/tmp/.X11-unix"); err != nil {
		t.Fatal("canary: there is no socket directory outside")
	}
}

// TestBrowserIsItself: the name by which links are opened may lead to a browser; that
// stays the program it is.
func TestBrowserIsItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	browser, err := filepath.EvalSymlinks("/usr/bin/x-www-browser")
	if err != nil || filepath.Base(browser) == "x-www-browser" {
		t.Fatalf("the name does not lead to a browser here (%q, %v): install the package chromium", browser, err)
	}
	want, err := os.ReadFile(browser)
	w.must(err)
	w.sh("cat " + browser + " > copy")
	if got := w.read(w.project + "/copy"); got != string(want) {
		t.Errorf("%s inside has %d bytes, outside %d", browser, len(got), len(want))
	}
}
