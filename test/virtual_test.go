//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/godbus/dbus/v5"
)

// hostSound starts a sound server that stands for the person's, without any hardware,
// and records what it plays. heard says whether that is more than silence.
func (w *world) hostSound() (heard func() bool) {
	w.t.Helper()
	w.need("pulseaudio", "paplay", "parec")
	if !exists("/usr/share/sounds/freedesktop/stereo/bell.oga") {
		w.t.Skip("sound-theme-freedesktop is not installed here; make test installs it")
	}
	server := w.command("pulseaudio", "--daemonize=no", "--use-pid-file=no", "--exit-idle-time=-1", "-n", "-L", "module-null-sink", "-L", "module-native-protocol-unix")
	w.must(server.Start())
	w.t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	eventually(w.t, "the sound server", func() bool { return exists(w.runtime + "/pulse/native") })
	tape, err := os.Create(w.base + "/tape")
	w.must(err)
	recorder := w.command("parec", "--device=null.monitor", "--format=s16le", "--latency-msec=20")
	recorder.Env = append(recorder.Env, "PULSE_SERVER=unix:"+w.runtime+"/pulse/native")
	recorder.Stdout = tape
	w.must(recorder.Start())
	w.t.Cleanup(func() { _ = recorder.Process.Kill(); _ = recorder.Wait(); tape.Close() })
	eventually(w.t, "the recorder", func() bool { return len(w.read(w.base+"/tape")) > 1<<10 })
	from := 0
	return func() bool {
		tape := w.read(w.base + "/tape")[from:]
		loud := strings.Trim(tape, "\x00") != ""
		if loud {
			from += len(tape)
		}
		return loud
	}
}

// TestSound: a name from inside is played outside, of the host's own files; a file of the
// project never is; and nothing sounds where it is switched off.
func TestSound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	heard := w.hostSound()
	w.write(w.project+"/own.wav", "RIFF....WAVE")
	if heard() {
		t.Fatal("canary: something sounds before anything is played")
	}
	// Every refusal first: whatever of it was played would be heard in the end.
	for _, command := range []string{"afplay own.wav", "paplay ./own.wav", "afplay /etc/passwd", "paplay < own.wav", "aplay -", "afplay ../../../usr/share/sounds/../../etc/shadow", "canberra-gtk-play -f " + w.project + "/own.wav", "canberra-gtk-play -i nothing"} {
		r := w.run("--", "bash", "-c", command)
		if r.code != 1 || r.err == "" {
			t.Errorf("%s: %s", command, r)
		}
	}
	off := w.write(w.outside+"/off.json", `{"virtual_commands": {"sound": "off"}}`)
	r := w.carrel("run", "--json", "--permissions", off, "--", "bash", "-c", "afplay /System/Library/Sounds/Glass.aiff; afplay /System/Library/Sounds/Glass.aiff")
	if r.code != 1 || !strings.Contains(r.err, "off.json:1:") || strings.Count(r.err, `"operation":"play-sound"`) != 1 || !strings.Contains(r.err, `"code":"ceiling"`) || strings.Contains(r.err, `"sounds":`) {
		t.Errorf("under a ceiling: %s", r)
	}
	w.write(w.project+"/.carrel.yaml", "virtual_commands: {sound: off}\n")
	if r := w.run("--", "paplay", "/usr/share/sounds/freedesktop/stereo/bell.oga"); r.code != 1 || !strings.Contains(r.err, "switched off") || !strings.Contains(r.err, ".carrel.yaml:1:27") {
		t.Errorf("a project that wants quiet: %s", r)
	}
	w.must(os.Remove(w.project + "/.carrel.yaml"))
	waitABit()
	if heard() {
		t.Error("something of what was refused was played")
	}
	for _, command := range []string{"afplay -v 0.5 /System/Library/Sounds/Glass.aiff", "paplay --volume=65536 /usr/share/sounds/freedesktop/stereo/bell.oga", "canberra-gtk-play -i message", "pw-play complete", "aplay -q /usr/share/sounds/alsa/Front_Center.wav"} {
		r := w.run("--json", "--", "bash", "-c", command)
		if r.code != 0 || !strings.Contains(r.err, `"sounds":1`) {
			t.Errorf("%s: %s", command, r)
		}
		eventually(t, command+" to be heard", heard)
		eventually(t, "silence", func() bool { return !heard() })
	}
	w.need("bwrap")
	if r := w.run("--engine", "bubblewrap", "--history", "off", "--", "afplay", "/System/Library/Sounds/Hero.aiff"); r.code != 0 {
		t.Errorf("with bubblewrap: %s", r)
	}
	eventually(t, "a workspace of bubblewrap to be heard", heard)
	eventually(t, "silence", func() bool { return !heard() })
	// One that stays, whose uses are told and written down.
	s := w.stays("loud")
	s.sh("afplay /System/Library/Sounds/Tink.aiff")
	eventually(t, "a named workspace to be heard", heard)
	told := false
	for _, e := range s.events() {
		told = told || e.Kind == "sound" && e.Text == "tink: played"
	}
	if !told {
		t.Errorf("events: %+v", s.events())
	}
	if out := s.fine("audit show"); !strings.Contains(out, "tink") {
		t.Errorf("audit: %s", out)
	}
}

// TestSoundRings: without a sound server the person's terminal is rung, and without a
// terminal the answer is no.
func TestSoundRings(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		if r := w.run("--", "afplay", "/System/Library/Sounds/Ping.aiff"); r.code != 1 || !strings.Contains(r.err, "there is no terminal to ring") || strings.Contains(r.err+r.out, "\a") {
			t.Errorf("without a terminal: %s", r)
		}
		tm := w.shellOutside()
		tm.send(w.bin + " run -- afplay /System/Library/Sounds/Ping.aiff\n")
		tm.expect("\a")
		if got := tm.status(); got != "st=0\r" {
			t.Errorf("with a terminal: %q", got)
		}
		tm.send("exit\n")
		tm.wait()
	})
}

// desktopOutside stands for the person's notification service.
type desktopOutside struct {
	mu   sync.Mutex
	seen []string
	next uint32
}

// Notify implements org.freedesktop.Notifications.
func (d *desktopOutside) Notify(app string, replaces uint32, icon, summary, body string, actions []string, hints map[string]dbus.Variant, expires int32) (uint32, *dbus.Error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen = append(d.seen, fmt.Sprintf("%s|%d|%s|%s|%s|%d|%v|%d", app, replaces, icon, summary, body, len(actions), hints["urgency"].Value(), expires))
	d.next += 100
	return d.next, nil
}

func (d *desktopOutside) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.seen...)
}

// hostNotifications starts a session bus for the person with somebody who shows.
func (w *world) hostNotifications() *desktopOutside {
	w.t.Helper()
	w.need("dbus-daemon")
	config := w.write(w.base+"/home/session.conf", `<busconfig><type>session</type><listen>unix:path=`+w.runtime+`/bus</listen>`+
		`<policy context="default"><allow user="*"/><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`)
	daemon := w.command("dbus-daemon", "--nofork", "--nopidfile", "--config-file="+config)
	w.must(daemon.Start())
	w.t.Cleanup(func() { _ = daemon.Process.Kill(); _ = daemon.Wait() })
	var c *dbus.Conn
	eventually(w.t, "the bus", func() bool {
		var err error
		c, err = dbus.Connect("unix:path=" + w.runtime + "/bus")
		return err == nil
	})
	w.t.Cleanup(func() { c.Close() })
	d := &desktopOutside{}
	w.must(c.Export(d, "/org/freedesktop/Notifications", "org.freedesktop.Notifications"))
	_, err := c.RequestName("org.freedesktop.Notifications", 0)
	w.must(err)
	return d
}

// TestNotifySend: text from inside is shown on the person's desktop, under the
// workspace's name, as text alone; nothing else of the bus is reached; and nothing is
// shown where that is switched off.
func TestNotifySend(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[0]) // a bus wants its user to have an entry in /etc/passwd
	desktop := w.hostNotifications()
	off := w.write(w.outside+"/off.json", `{"virtual_commands": {"notify": "off"}}`)
	if r := w.carrel("run", "--json", "--permissions", off, "--", "notify-send", "hidden"); r.code != 1 || !strings.Contains(r.err, `"operation":"notify"`) || !strings.Contains(r.err, "off.json:1:") {
		t.Errorf("under a ceiling: %s", r)
	}
	w.write(w.home+"/.config/carrel/config.yaml", "virtual_commands:\n  notify: off\n")
	if r := w.run("--", "notify-send", "hidden"); r.code != 1 || !strings.Contains(r.err, "config.yaml:2:11") {
		t.Errorf("switched off by the person: %s", r)
	}
	w.must(os.Remove(w.home + "/.config/carrel/config.yaml"))
	for _, command := range []string{"notify-send", "notify-send a b c", "notify-send --action=x=Yes hidden", "notify-send -w hidden", "notify-send -u loud hidden"} {
		if r := w.run("--", "bash", "-c", command); r.code != 1 || r.err == "" {
			t.Errorf("%s: %s", command, r)
		}
	}
	if got := desktop.all(); len(got) > 0 {
		t.Fatalf("shown all the same: %q", got)
	}
	r := w.run("--json", "--", "bash", "-c", `
		id=$(notify-send -p -u critical -t 5000 -i /etc/passwd -a Firefox 'carrel: desk waits for you' '<a href="http://evil/">here</a> & \nmore'$'\e[2J')
		echo $id
		notify-send -p -r $id -u low second
		notify-send -p -r 4242 third
		ls `+w.runtime+`/bus 2>/dev/null
		for i in 1 2 3 4 5 6 7 8; do notify-send "flood $i" 2>/dev/null && echo more; done; true`)
	if r.out != "1\n1\n2\nmore\nmore\n" {
		t.Errorf("%s", r)
	}
	if !strings.Contains(r.err, `"notifications":5`) {
		t.Errorf("not counted: %s", r)
	}
	got := desktop.all()
	want := []string{
		`carrel|0||inside desk: carrel: desk waits for you|&lt;a href="http://evil/"&gt;here&lt;/a&gt; &amp; ` + "\nmore?[2J|0|1|5000",
		"carrel|100||inside desk: second||0|0|-1",
		"carrel|0||inside desk: third||0|1|-1", // it has shown no 4242
	}
	if len(got) != 5 || strings.Join(got[:3], "\n") != strings.Join(want, "\n") {
		t.Errorf("shown:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	s := w.stays("told")
	s.sh("notify-send done")
	if got := desktop.all(); len(got) != 6 || !strings.HasPrefix(got[5], "carrel|0||inside told: done|") {
		t.Errorf("of a named workspace: %q", got)
	}
	if !bytes.Contains([]byte(fmt.Sprint(s.events())), []byte("notification done")) {
		t.Errorf("events: %+v", s.events())
	}
}

// TestNobodyIsNotified: without a desktop the answer is honest.
func TestNobodyIsNotified(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	if r := w.run("--", "notify-send", "x"); r.code != 1 || !strings.Contains(r.err, "no desktop that shows notifications") {
		t.Errorf("%s", r)
	}
}

// TestLinksClosed: under a ceiling without links none is kept or opened, and a request
// for more is refused at the start.
func TestLinksClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	if r := w.run("--json", "--", "xdg-open", "https://example.com/"); !strings.Contains(r.err, `"url":"https://example.com/"`) {
		t.Fatalf("canary: %s", r)
	}
	none := w.write(w.outside+"/none.json", `{"open_urls": "none"}`)
	if r := w.carrel("run", "--json", "--permissions", none, "--", "xdg-open", "https://example.com/"); r.code != 4 || strings.Contains(r.err, `"url"`) || !strings.Contains(r.err, `"operation":"open-link"`) {
		t.Errorf("%s", r)
	}
	show := w.write(w.outside+"/show.json", `{"open_urls": "show"}`)
	w.write(w.home+"/.config/carrel/config.yaml", "open_urls: browser\n")
	if r := w.carrel("run", "--permissions", show, "--", "true"); r.code != 125 || !strings.Contains(r.err, "open_urls") || !strings.Contains(r.err, "config.yaml:1:12") {
		t.Errorf("%s", r)
	}
	if out := w.carrel("explain", "--json").out; !strings.Contains(out, `"open_urls"`) || !strings.Contains(out, `"sound"`) || !strings.Contains(out, `"notify"`) {
		t.Errorf("explain: %s", cut(out))
	}
}
