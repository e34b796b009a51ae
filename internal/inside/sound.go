package inside

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// soundNames are all that can be asked for: of the freedesktop sound naming
// specification, and of macOS in lower case.
var soundNames = []string{
	"alarm-clock-elapsed", "audio-channel-front-center", "audio-channel-front-left", "audio-channel-front-right", "audio-channel-rear-center",
	"audio-channel-rear-left", "audio-channel-rear-right", "audio-channel-side-left", "audio-channel-side-right", "audio-test-signal", "audio-volume-change",
	"basso", "battery-low", "bell", "bell-terminal", "bell-window-system", "blow", "bottle", "button-pressed", "camera-shutter", "complete", "complete-copy",
	"complete-download", "complete-media-burn", "desktop-login", "desktop-logout", "device-added", "device-removed", "dialog-error", "dialog-information",
	"dialog-question", "dialog-warning", "file-trash", "frog", "funk", "glass", "hero", "message", "message-highlight", "message-new-email",
	"message-new-instant", "message-sent-email", "message-sent-instant", "morse", "network-connectivity-established", "network-connectivity-lost",
	"notification-message", "phone-hangup", "phone-incoming-call", "phone-outgoing-busy", "phone-outgoing-calling", "ping", "pop", "power-plug",
	"power-unplug", "purr", "screen-capture", "service-login", "service-logout", "sosumi", "submarine", "suspend-error", "theme-demo", "tink",
	"trash-empty", "window-attention", "window-close", "window-new", "window-question",
}

// Sounds are the names of sounds that can be asked for.
func Sounds() []string { return slices.Clone(soundNames) }

const soundVersion = "carrel's own, which asks for a sound of the machine outside by its name\n"

// player is a program that plays sounds, as far as its arguments go.
type player struct {
	usage   string
	options []option
	refuse  map[string]string // options that mean something else: why not
	byName  string            // the option whose value is a sound's name; "" for none
	byFile  string            // the option whose value is a file, beside arguments
}

const noSoundIn = "a workspace hears nothing: it cannot record"

var errStandardInput = errors.New("a file's name, please: sound that is piped in is not played")

// players are the programs by name. Volume, speed and devices are the person's own
// business: what asks for them is accepted, and the sound is played as it is.
var players = map[string]player{
	"afplay": {usage: "afplay [-v VOLUME] [-t TIME] [-r RATE] [-q QUALITY] [-d] FILE", options: []option{
		{"volume", 'v', true}, {"time", 't', true}, {"rate", 'r', true}, {"rQuality", 'q', true}, {"debug", 'd', false}, {"leaks", 0, false}, {"help", 'h', false}}},
	"paplay": {usage: "paplay [--volume=N] [-d DEVICE] [-n NAME] FILE", options: []option{
		{"help", 'h', false}, {"version", 0, false}, {"verbose", 'v', false}, {"server", 's', true}, {"device", 'd', true}, {"client-name", 'n', true}, {"stream-name", 0, true},
		{"volume", 0, true}, {"rate", 0, true}, {"format", 0, true}, {"channels", 0, true}, {"channel-map", 0, true}, {"fix-format", 0, false}, {"fix-rate", 0, false}, {"fix-channels", 0, false},
		{"no-remix", 0, false}, {"no-remap", 0, false}, {"latency", 0, true}, {"process-time", 0, true}, {"latency-msec", 0, true}, {"process-time-msec", 0, true}, {"property", 0, true},
		{"raw", 0, false}, {"passthrough", 0, false}, {"file-format", 0, false}, {"list-file-formats", 0, false}, {"monitor-stream", 0, true}, {"playback", 'p', false}, {"record", 'r', false}},
		refuse: map[string]string{"record": noSoundIn, "monitor-stream": noSoundIn, "list-file-formats": "no format is read: sounds are asked for by name"}},
	"aplay": {usage: "aplay [-q] [-D DEVICE] FILE...", options: []option{
		{"help", 'h', false}, {"version", 0, false}, {"list-devices", 'l', false}, {"list-pcms", 'L', false}, {"device", 'D', true}, {"quiet", 'q', false}, {"file-type", 't', true},
		{"channels", 'c', true}, {"format", 'f', true}, {"rate", 'r', true}, {"duration", 'd', true}, {"samples", 's', true}, {"sleep-min", 0, true}, {"mmap", 'M', false}, {"nonblock", 'N', false},
		{"period-time", 'F', true}, {"buffer-time", 'B', true}, {"period-size", 0, true}, {"buffer-size", 0, true}, {"avail-min", 'A', true}, {"start-delay", 'R', true}, {"stop-delay", 'T', true},
		{"verbose", 'v', false}, {"vumeter", 'V', true}, {"separate-channels", 'I', false}, {"playback", 'P', false}, {"capture", 'C', false}, {"interactive", 'i', false}, {"chmap", 'm', true}},
		refuse: map[string]string{"capture": noSoundIn, "list-devices": "a workspace has no sound cards", "list-pcms": "a workspace has no sound cards"}},
	"pw-play": {usage: "pw-play [--volume=N] [--target=DEVICE] FILE", options: []option{
		{"help", 'h', false}, {"version", 0, false}, {"verbose", 'v', false}, {"remote", 'R', true}, {"media-type", 0, true}, {"media-category", 0, true}, {"media-role", 0, true}, {"target", 0, true},
		{"latency", 0, true}, {"properties", 'P', true}, {"rate", 0, true}, {"channels", 0, true}, {"channel-map", 0, true}, {"format", 0, true}, {"volume", 0, true}, {"quality", 'q', true},
		{"raw", 'a', false}, {"playback", 'p', false}, {"record", 'r', false}, {"midi", 'm', false}, {"dsd", 'd', false}, {"encoded", 'o', false}, {"sample-count", 'n', true}, {"container", 0, true}},
		refuse: map[string]string{"record": noSoundIn}},
	"canberra-gtk-play": {usage: "canberra-gtk-play -i NAME | -f FILE", byName: "id", byFile: "file", options: []option{
		{"help", 'h', false}, {"version", 'v', false}, {"id", 'i', true}, {"file", 'f', true}, {"description", 'd', true}, {"cache-control", 'c', true}, {"loop", 'l', true}, {"volume", 'V', true},
		{"display", 0, true}}},
}

// soundHelper runs one of them: 0 when what was asked for was played.
func soundHelper(program string, args []string, s *streams) int {
	names, info, err := soundArguments(program, args)
	if info != "" {
		fmt.Fprint(s.out, info)
		return 0
	}
	for _, name := range names {
		if err != nil {
			break
		}
		var reply Reply
		if reply, err = s.ask(Request{Operation: OpSound, Sound: name}); err == nil && !reply.OK {
			err = errors.New(reply.Message)
		}
	}
	if err != nil {
		fmt.Fprintf(s.err, "%s: %v\n", program, err)
		return 1
	}
	return 0
}

// soundArguments reads what one of the programs is asked for: names of sounds, or
// something to print.
func soundArguments(program string, args []string) (names []string, info string, err error) {
	p := players[program]
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return program == "paplay" && strings.HasPrefix(a, "--file-format=") })
	given, files, err := getopt(args, p.options)
	if err != nil {
		return nil, "", fmt.Errorf("%w\nusage: %s", err, p.usage)
	}
	for _, w := range given {
		switch {
		case w.name == "help":
			return nil, "usage: " + p.usage + "\nThis is " + soundVersion, nil
		case w.name == "version":
			return nil, program + ": " + soundVersion, nil
		case p.refuse[w.name] != "":
			return nil, "", errors.New(p.refuse[w.name])
		case w.name == p.byName && p.byName != "":
			name, ok := knownSound(w.value)
			if !ok {
				return nil, "", unknownSound(w.value)
			}
			names = append(names, name)
		case w.name == p.byFile && p.byFile != "":
			files = append(files, w.value)
		}
	}
	for _, f := range files {
		name, err := soundOf(f)
		if err != nil {
			return nil, "", err
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, "", errStandardInput
	}
	if program != "aplay" && len(names) > 1 {
		return nil, "", fmt.Errorf("one sound at a time\nusage: %s", p.usage)
	}
	return names, "", nil
}

// Directories whose files have names that mean something outside, too.
const (
	macSounds  = "/System/Library/Sounds/"
	hostSounds = "/usr/share/sounds/"
)

// soundOf gives the name of the sound that a file stands for. What is no file of the
// system's has none: somebody outside would have to parse it.
func soundOf(file string) (string, error) {
	switch at := path.Clean(file); {
	case file == "-":
		return "", errStandardInput
	case strings.HasPrefix(at, macSounds) || strings.HasPrefix(at, hostSounds):
		base := path.Base(at)
		if name, ok := knownSound(strings.TrimSuffix(base, path.Ext(base))); ok {
			return name, nil
		}
		return "", unknownSound(file)
	case !strings.ContainsAny(file, "/."):
		if name, ok := knownSound(file); ok {
			return name, nil
		}
	}
	return "", fmt.Errorf("%.200q is not played: a program outside the walls would have to read a file of the workspace. Ask for a sound by name: %sGlass.aiff, %sfreedesktop/stereo/complete.oga, bell", file, macSounds, hostSounds)
}

// knownSound gives the one spelling of a sound's name.
func knownSound(name string) (string, bool) {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	for _, one := range []string{name, "audio-channel-" + name} { // as ALSA names its own
		if slices.Contains(soundNames, one) {
			return one, true
		}
	}
	return "", false
}

func unknownSound(name string) error {
	return fmt.Errorf("%.200q is none of the sounds that can be asked for: %s", name, strings.Join(soundNames, ", "))
}
