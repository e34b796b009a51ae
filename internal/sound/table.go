package sound

import (
	"maps"
	"slices"
	"strings"
)

// mac are the sounds of macOS, by what comes near them in a freedesktop theme.
var mac = map[string][]string{
	"basso":     {"dialog-error", "dialog-warning"},
	"blow":      {"audio-volume-change"},
	"bottle":    {"dialog-information"},
	"frog":      {"message"},
	"funk":      {"dialog-warning"},
	"glass":     {"complete"},
	"hero":      {"service-login", "complete"},
	"morse":     {"phone-outgoing-calling"},
	"ping":      {"message-new-instant", "message"},
	"pop":       {"device-added"},
	"purr":      {"window-attention", "dialog-information"},
	"sosumi":    {"suspend-error", "dialog-error"},
	"submarine": {"phone-incoming-call"},
	"tink":      {"bell"},
}

// themed are names of the sound naming specification. One that a theme does not have is
// played as what stands beside it, or as the same name with less after its last dash.
var themed = map[string][]string{
	"alarm-clock-elapsed": nil, "audio-channel-front-center": nil, "audio-channel-front-left": nil, "audio-channel-front-right": nil,
	"audio-channel-rear-center": nil, "audio-channel-rear-left": nil, "audio-channel-rear-right": nil, "audio-channel-side-left": nil,
	"audio-channel-side-right": nil, "audio-test-signal": nil, "audio-volume-change": nil, "bell": nil, "camera-shutter": nil,
	"complete": nil, "device-added": nil, "device-removed": nil, "dialog-error": nil, "dialog-information": nil, "dialog-warning": nil,
	"message": nil, "message-new-instant": nil, "network-connectivity-established": nil, "network-connectivity-lost": nil,
	"phone-incoming-call": nil, "phone-outgoing-busy": nil, "phone-outgoing-calling": nil, "power-plug": nil, "power-unplug": nil,
	"screen-capture": nil, "service-login": nil, "service-logout": nil, "suspend-error": nil, "trash-empty": nil,
	"window-attention": nil, "window-question": nil,

	"bell-terminal": nil, "bell-window-system": nil, "battery-low": {"dialog-warning"}, "button-pressed": {"audio-volume-change"},
	"complete-copy": nil, "complete-download": nil, "complete-media-burn": nil, "desktop-login": {"service-login"}, "desktop-logout": {"service-logout"},
	"dialog-question": {"window-question"}, "file-trash": {"trash-empty"}, "message-highlight": nil, "message-new-email": nil,
	"message-sent-email": nil, "message-sent-instant": nil, "notification-message": {"message"}, "phone-hangup": {"phone-outgoing-busy"},
	"theme-demo": {"complete"}, "window-close": {"device-removed"}, "window-new": {"device-added"},
}

// Names are all that can be asked for.
func Names() []string {
	all := maps.Clone(themed)
	maps.Copy(all, mac)
	return slices.Sorted(maps.Keys(all))
}

// candidates are the names of a theme that stand for one, best first; nil for a name
// that nobody knows. The bell stands for all.
func candidates(name string) []string {
	near, known := mac[name]
	out := slices.Clone(near)
	if !known {
		if near, known = themed[name]; !known {
			return nil
		}
		out = append([]string{name}, near...)
		for i := strings.LastIndexByte(name, '-'); i > 0; i = strings.LastIndexByte(name[:i], '-') {
			out = append(out, name[:i])
		}
	}
	if !slices.Contains(out, "bell") {
		out = append(out, "bell")
	}
	return out
}
