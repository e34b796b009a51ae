package inside

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSoundArguments(t *testing.T) {
	for line, want := range map[string]string{ // names, or ! and a part of the refusal
		"afplay /System/Library/Sounds/Glass.aiff":                          "glass",
		"afplay -v 0.5 -t 2 -r 1 -q 1 -d /System/Library/Sounds/Basso.aiff": "basso",
		"afplay /System/Library/Sounds/Submarine.aiff -v 2":                 "submarine",
		"afplay /System/Library/../Library/Sounds/Tink.aiff":                "tink",
		"afplay Glass":      "glass",
		"afplay Glass.aiff": "!file of the workspace",
		"afplay /System/Library/Sounds/Quack.aiff":          "!none of the sounds",
		"afplay /System/Library/Sounds/../../../etc/passwd": "!file of the workspace",
		"afplay ./own.wav":  "!file of the workspace",
		"afplay -":          "!piped in",
		"afplay":            "!file's name",
		"afplay -x y":       "!usage: afplay",
		"afplay Glass Tink": "!one sound",
		"paplay --volume=65536 /usr/share/sounds/freedesktop/stereo/bell.oga": "bell",
		"paplay -d sink -n me --file-format=wav --latency-msec=20 complete":   "complete",
		"paplay /usr/share/sounds/Yaru/stereo/dialog-question.oga":            "dialog-question",
		"paplay -r x":     "!cannot record",
		"paplay --server": "!requires an argument",
		"aplay -q -D default /usr/share/sounds/alsa/Front_Center.wav bell": "audio-channel-front-center bell",
		"aplay -l": "!no sound cards",
		"pw-play --volume 0.3 /usr/share/sounds/freedesktop/stereo/message.oga": "message",
		"pw-play -r x": "!cannot record",
		"canberra-gtk-play -i bell -d hello -V -6":   "bell",
		"canberra-gtk-play --id=complete --loop=3":   "complete",
		"canberra-gtk-play -i /etc/passwd":           "!none of the sounds",
		"canberra-gtk-play -f /usr/share/sounds/x/y": "!none of the sounds",
		"canberra-gtk-play --file=/home/u/evil.ogg":  "!file of the workspace",
		"canberra-gtk-play -i bell -f /etc/passwd":   "!file of the workspace",
		"canberra-gtk-play -i bell -i bell":          "!one sound",
	} {
		args := strings.Fields(line)
		names, info, err := soundArguments(args[0], args[1:])
		got := strings.Join(names, " ")
		if part, refused := strings.CutPrefix(want, "!"); refused {
			if err == nil || !strings.Contains(err.Error(), part) || len(names) > 0 {
				t.Errorf("%s: %q, %v; want %q", line, got, err, part)
			}
		} else if got != want || err != nil || info != "" {
			t.Errorf("%s: %q, %q, %v; want %q", line, got, info, err, want)
		}
	}
	for _, p := range SoundHelpers() {
		if _, info, err := soundArguments(p, []string{"--help"}); err != nil || !strings.Contains(info, "usage: "+p) || !IsHelper("/run/carrel/bin/"+p) {
			t.Errorf("%s --help: %q, %v", p, info, err)
		}
	}
}

func TestNoteArguments(t *testing.T) {
	long := strings.Repeat("ä", MaxNote)
	for _, tt := range []struct {
		args []string
		want Note
		err  string
	}{
		{[]string{"done"}, Note{Title: "done"}, ""},
		{[]string{"-u", "critical", "-i", "x", "-a", "y", "-c", "im", "-h", "int:x:1", "t", `a\nb\\n`}, Note{Title: "t", Body: "a\nb\\n"}, ""},
		{[]string{"--urgency=low", "--expire-time=2500", "-e", "--replace-id=7", "--", "-t"}, Note{Title: "-t", Low: true, Expires: 2500, Transient: true, Replaces: 7}, ""},
		{[]string{"-t", "-1", "t"}, Note{Title: "t"}, ""},
		{[]string{"t\xff", long}, Note{Title: "t\uFFFD", Body: strings.Repeat("ä", (MaxNote-3)/2) + "…"}, ""},
		{nil, Note{}, "no summary"},
		{[]string{""}, Note{}, "no summary"},
		{[]string{"a", "b", "c"}, Note{}, "invalid number"},
		{[]string{"-u", "x", "t"}, Note{}, "known urgency levels"},
		{[]string{"-t", "soon", "t"}, Note{}, "integer"},
		{[]string{"-t", "99999999999", "t"}, Note{}, "integer"},
		{[]string{"-r", "-1", "t"}, Note{}, "integer"},
		{[]string{"-w", "t"}, Note{}, "--wait is not done"},
		{[]string{"-A", "yes", "t"}, Note{}, "--action is not done"},
	} {
		n, _, _, err := noteArguments(tt.args)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%.80q: %v, want %q", tt.args, err, tt.err)
			}
		} else if n != tt.want || err != nil {
			t.Errorf("%.80q: %.80v, %v; want %.80v", tt.args, n, err, tt.want)
		}
	}
}

// TestVirtualTellsTheTruth: the status is what the supervisor said.
func TestVirtualTellsTheTruth(t *testing.T) {
	for _, tt := range []struct {
		reply Reply
		err   error
		code  int
		out   string
		says  string
	}{
		{Reply{OK: true, ID: 9}, nil, 0, "9\n", ""},
		{Reply{Message: "no desktop"}, nil, 1, "", "no desktop"},
		{Reply{}, errors.New("no socket"), 1, "", "no socket"},
	} {
		var out, says bytes.Buffer
		s := &streams{out: &out, err: &says, ask: func(Request) (Reply, error) { return tt.reply, tt.err }}
		if code := notifySend([]string{"-p", "x"}, s); code != tt.code || out.String() != tt.out || !strings.Contains(says.String(), tt.says) {
			t.Errorf("notify-send: %d %q %q", code, &out, &says)
		}
		if code := soundHelper("afplay", []string{"Glass"}, s); code != tt.code || !strings.Contains(says.String(), tt.says) {
			t.Errorf("afplay: %d %q", code, &says)
		}
	}
}

// FuzzVirtualArguments: whatever is given, what is sent is a known name, or a text that
// fits into a request.
func FuzzVirtualArguments(f *testing.F) {
	for _, s := range []string{"afplay\x00-v\x001\x00/System/Library/Sounds/Glass.aiff", "paplay\x00--file-format=\x00x", "notify-send\x00-u\x00low\x00t\x00b\\n", "canberra-gtk-play\x00--id=bell", "aplay\x00-", "notify-send\x00\xff\x00" + strings.Repeat("\x01", 3000), "pw-play\x00/usr/share/sounds//.oga"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\x00")
		for program := range players {
			names, info, err := soundArguments(program, args[1:])
			for _, name := range names {
				if !slices.Contains(soundNames, name) {
					t.Errorf("%s %q asks for %q", program, args, name)
				}
			}
			if err == nil && info == "" && len(names) == 0 {
				t.Errorf("%s %q asks for nothing and says nothing", program, args)
			}
		}
		n, _, info, err := noteArguments(args[1:])
		if err != nil || info != "" {
			return
		}
		if n.Title == "" || !utf8.ValidString(n.Title+n.Body) || len(n.Title) > MaxNote || len(n.Body) > MaxNote || n.Expires < 0 {
			t.Errorf("%q: %+v", args, n)
		}
		if text, err := json.Marshal(Request{Operation: OpNotify, Note: n}); err != nil || len(text) >= MaxRequest {
			t.Errorf("%q does not fit into a request: %d, %v", args, len(text), err)
		}
	})
}
